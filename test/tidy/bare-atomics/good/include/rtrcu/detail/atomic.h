/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#define rtrcu_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#ifdef RTRCU_DEBUG
#endif
#if defined(__x86_64__)
#elif 1
#endif

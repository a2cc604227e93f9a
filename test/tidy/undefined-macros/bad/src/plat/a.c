/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#ifdef RTRCU_DEBG
#endif
#if defined(__linux__) && RTRCU_FAST
#endif

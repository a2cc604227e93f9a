/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#ifdef RTRCU_DEBUG
#define GP_BATCH 1
#else
#define GP_BATCH 8
#endif
enum { GP_LEVELS = 4 };

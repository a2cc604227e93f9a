/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
/* The list is short, so a linear search is fast. */
int base_a(void);

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
extern const int gp_rows[2];
int gp_top(void);
int gp_middle(void);
int gp_low(int (*up)(void));
int rtrcu_entry(void);

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
extern int (*const gp_rows[1])(void);
int gp_top(void);
int gp_middle(void);
int gp_low(void);
int gp_aside(void);

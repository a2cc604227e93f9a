/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#include "gp/gp.h"

static int count(void)
{
    return 1;
}

int gp_top(void)
{
    return gp_middle() + gp_rows[0] + count() + gp_low(gp_middle);
}

/* Exported: its caller below stands for the program. */
int rtrcu_entry(void)
{
    return gp_top();
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#include "gp/gp.h"

const int gp_rows[2] = {1, 2};

/* Names that other files have too, but not in common. */
static int count(void)
{
    return 2;
}

int gp_low(int (*up)(void))
{
    int gp_top = up ? up() : count();
    return gp_top;
}

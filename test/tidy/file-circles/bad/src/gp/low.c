/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#include "gp/gp.h"

/* A row of functions leads there as well as a call. */
int (*const gp_rows[1])(void) = {gp_top};

int gp_low(void)
{
    return gp_rows[0]();
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#include "gp/gp.h"

int gp_aside(void)
{
    return 1;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#include "gp/gp.h"

int gp_variable;

int gp_tested(const struct gp *gp)
{
    return gp->seq;
}

int gp_turn(struct gp *gp)
{
    return gp_tested(gp) + GP_FIRST;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#include "gp/gp.h"

int gp_look(const struct gp *gp, enum gp_step step)
{
    return step == GP_SECOND ? gp_turn((struct gp *)gp) : 0;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#include "gp/gp.h"

unsigned int gp_turn(struct gp *gp, unsigned int index)
{
    struct rtrcu_word copy;
    rtrcu_store_relaxed(&gp->words[index], gp->event);
    rtrcu_count_owner(&gp->count);
    gp->words[index]++;
    copy = gp->asked;
    gp->event = rtrcu_load_relaxed(&gp->seq);
    gp->turns += gp->turns;
    return copy.value;
}

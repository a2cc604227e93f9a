/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#include "gp/gp.h"

static void wake(unsigned int *word)
{
    rtrcu_fetch_add(word, 1);
}

void gp_init(struct gp *gp)
{
    gp->event = 0;
    gp->words[0] = 0;
}

void gp_after_fork(struct gp *gp)
{
    gp->event = 0;
}

unsigned int gp_turn(struct gp *gp, unsigned int index)
{
    rtrcu_store_relaxed(&gp->words[index], rtrcu_load_relaxed(&gp->event) + gp->plain);
    rtrcu_count_owner(&gp->count);
    rtrcu_store_relaxed(&gp->turns, gp->turns + 1);
    wake(&gp->event);
    return rtrcu_load_relaxed(&gp->asked.value) + rtrcu_load_relaxed(&gp->inner.event) + sizeof(gp->event);
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#include "gp/gp.h"

static void finish(int *count)
{
    (void)count;
}

int gp_turn(struct gp *gp)
{
    int count __attribute__((cleanup(finish))) = offsetof(struct gp, position);
    gp->started = 1;
    return gp_look(gp, GP_FIRST) + gp_seq(gp) + count;
}

/* The program's. */
int rtrcu_entry(void)
{
    return 0;
}

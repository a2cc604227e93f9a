/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#include "gp/gp.h"

#define gp_larger(a, b) ((a) > (b) ? (a) : (b))

unsigned int gp_turn(struct gp_machine *machine, struct rtrcu_thread *thread, struct rtrcu_config *config)
{
    struct reader_leaf *leaf = &machine->leaf;
    struct reader_leaf copy = {
        .used = 1,
    };
    leaf->used = 0;
    machine->seq += leaf->tasks.parked;
    machine->seq += gp_larger(leaf->used, 4u);
    machine->seq += offsetof(struct reader_leaf, used);
    machine->seq += thread->state;
    machine->seq += thread->word;
    machine->seq += thread->slow;
    config->tick_us = 1;
    return reader_used(&copy);
}

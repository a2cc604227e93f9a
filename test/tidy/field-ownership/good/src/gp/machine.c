/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
#include "gp/gp.h"

int gp_turn(struct gp_machine *machine, struct rtrcu_thread *thread, const struct rtrcu_config *config)
{
    struct reader_budget budget = {.count = config->tick_us};
    struct rcu_head head = {.next = NULL};
    machine->seq += thread->state + reader_used(&machine->leaf) + reader_parked(&machine->leaf);
    return budget.count + (head.next != NULL);
}

/* Older than the rule, and on its list. */
unsigned int gp_older(const struct gp_machine *machine)
{
    return machine->leaf.used;
}

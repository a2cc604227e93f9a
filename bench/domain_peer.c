// SPDX-License-Identifier: MIT OR Apache-2.0
// liburcu-bp's part of domain.c, in a separate file, since both libraries have functions of the same names.
#include <stdlib.h>

#define _LGPL_SOURCE
#include <urcu/urcu-bp.h>

#include "domain_peer.h"

void bp_pairs(unsigned int count)
{
    for (unsigned int i = 0; i < count; i++) {
        urcu_bp_read_lock();
        urcu_bp_read_unlock();
    }
}

void bp_synchronize(unsigned int count)
{
    for (unsigned int i = 0; i < count; i++)
        urcu_bp_synchronize_rcu();
}

struct replaced {
    struct rcu_head head; // first
    int value;
};

static void free_replaced(struct rcu_head *head)
{
    free(head);
}

void bp_updates(unsigned int count)
{
    static struct replaced *current;
    for (unsigned int i = 0; i < count; i++) {
        struct replaced *old = uatomic_xchg(&current, calloc(1, sizeof(struct replaced)));
        if (old)
            urcu_bp_call_rcu(&old->head, free_replaced);
    }
    urcu_bp_barrier();
}

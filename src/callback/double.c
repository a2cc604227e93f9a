/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Debug builds: a head queued twice is named at the second call_rcu(), not when the list breaks.
 *
 * A set of queued heads: open addressing, a slot is taken by compare-and-swap.  When a neighbourhood is full the head
 * is not tracked, so a crowded table misses faults but never invents one.
 * tested by: test/api/misuse.cc
 */
#include "callback/callback.h"

#define DOUBLE_PROBES 16

static struct rcu_head **slot_of(struct callback *cb, struct rcu_head *head, uint32_t probe)
{
    uint64_t hash = (uint64_t)(uintptr_t)head * UINT64_C(0x9e3779b97f4a7c15);
    return &cb->queued[((hash >> 40) + probe) % CALLBACK_DOUBLE_SLOTS];
}

void callback_double_enter(struct callback *cb, struct rcu_head *head)
{
    for (uint32_t probe = 0; probe < DOUBLE_PROBES; probe++) {
        if (rtrcu_load_relaxed(slot_of(cb, head, probe)) == head)
            plat_die("rtrcu: call_rcu(): head %p is queued already and its callback has not begun\n", (void *)head);
    }
    for (uint32_t probe = 0; probe < DOUBLE_PROBES; probe++) {
        struct rcu_head *empty = NULL;
        if (rtrcu_compare_exchange(slot_of(cb, head, probe), &empty, head))
            return;
    }
}

void callback_double_leave(struct callback *cb, struct rcu_head *head)
{
    for (uint32_t probe = 0; probe < DOUBLE_PROBES; probe++) {
        struct rcu_head *expected = head;
        if (rtrcu_compare_exchange(slot_of(cb, head, probe), &expected, NULL))
            return;
    }
}

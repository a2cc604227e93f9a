/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Checked builds: the set of queued heads, which ends the program when a head is queued that is queued already.
 *
 * Open addressing in tables of growing size.  A slot is taken by compare-and-swap; where no table has a free slot near
 * the head's place, the next table is allocated.  A head is untracked only if the system has no memory for that.
 * tested by: test/unit/callback/double.cc
 */
#include "callback/callback.h"

#define PROBES 16

/* Table 0 is part of the domain; table n has 4^n times as many slots. */
static uint64_t slots_of(uint32_t table)
{
    return (uint64_t)CALLBACK_DOUBLE_SLOTS << (2 * table);
}

static struct rcu_head **table_of(struct callback *cb, uint32_t table)
{
    return table == 0 ? cb->queued : rtrcu_load_acquire(&cb->queued_more[table - 1]);
}

static struct rcu_head **slot_of(struct callback *cb, uint32_t table, const struct rcu_head *head, uint32_t probe)
{
    uint64_t hash = (uint64_t)(uintptr_t)head * UINT64_C(0x9e3779b97f4a7c15);
    return &table_of(cb, table)[((hash >> 24) + probe) % slots_of(table)];
}

/* Two threads may allocate the same table; the later one releases its own. */
static bool add_table(struct callback *cb, uint32_t table)
{
    size_t bytes = slots_of(table) * sizeof(struct rcu_head *);
    struct rcu_head **expected = NULL, **made = plat_mem_pages(bytes);
    if (made && !rtrcu_compare_exchange(&cb->queued_more[table - 1], &expected, made))
        plat_mem_release(made, bytes);
    return made != NULL;
}

static bool take_slot(struct callback *cb, uint32_t table, struct rcu_head *head)
{
    for (uint32_t probe = 0; probe < PROBES; probe++) {
        struct rcu_head *empty = NULL;
        if (rtrcu_compare_exchange(slot_of(cb, table, head, probe), &empty, head))
            return true;
    }
    return false;
}

static uint32_t count_slots(struct callback *cb, const struct rcu_head *head)
{
    uint32_t count = 0;
    for (uint32_t table = 0; table <= CALLBACK_DOUBLE_MORE && table_of(cb, table); table++) {
        for (uint32_t probe = 0; probe < PROBES; probe++)
            count += rtrcu_load_relaxed(slot_of(cb, table, head, probe)) == head;
    }
    return count;
}

/* Two threads may queue one head at the same time.  Each takes a slot and then counts.
 *  - our slot first:  the other thread counts both, and ends the program;
 *  - its slot first:  we count both.
 * Forbidden: neither thread sees the other's slot. */
void callback_double_enter(struct callback *cb, struct rcu_head *head)
{
    if (!cb->tracks_heads)
        return;

    for (uint32_t table = 0; table <= CALLBACK_DOUBLE_MORE; table++) {
        if (!table_of(cb, table) && !add_table(cb, table))
            break;
        if (take_slot(cb, table, head))
            break;
    }

    rtrcu_fence_full();
    if (count_slots(cb, head) > 1)
        plat_die("rtrcu: call_rcu(): head %p is queued already and its callback has not begun\n", (void *)head);
}

void callback_double_leave(struct callback *cb, struct rcu_head *head)
{
    if (!cb->tracks_heads)
        return;

    for (uint32_t table = 0; table <= CALLBACK_DOUBLE_MORE && table_of(cb, table); table++) {
        for (uint32_t probe = 0; probe < PROBES; probe++) {
            struct rcu_head *expected = head;
            if (rtrcu_compare_exchange(slot_of(cb, table, head, probe), &expected, NULL))
                return;
        }
    }
}

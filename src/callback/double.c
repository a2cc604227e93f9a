/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Checked builds: the set of queued heads; a head queued twice ends the program.
 *
 * Open addressing in tables of growing size.  A slot is taken by compare-and-swap; if no table has a free slot near the
 * head's place, the next table is allocated.  A head is untracked only if the system has no memory for a table.  The
 * lowest bit of an entry is the enum callback_queued_to of its head.
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

/* Allocate table @table.  If two threads do so at the same time, the later thread frees its own.  False: no memory. */
static bool add_table(struct callback *cb, uint32_t table)
{
    size_t bytes = slots_of(table) * sizeof(struct rcu_head *);
    struct rcu_head **expected = NULL, **made = plat_mem_pages(bytes);
    if (made && !rtrcu_compare_exchange(&cb->queued_more[table - 1], &expected, made))
        plat_mem_release(made, bytes);
    return made != NULL;
}

static struct rcu_head *entry_of(struct rcu_head *head, enum callback_queued_to to)
{
    return (struct rcu_head *)((uintptr_t)head | to);
}

static bool is_entry_of(const struct rcu_head *entry, const struct rcu_head *head)
{
    return ((uintptr_t)entry & ~(uintptr_t)CALLBACK_OF_DOMAIN) == (uintptr_t)head;
}

static bool take_slot(struct callback *cb, uint32_t table, struct rcu_head *head, enum callback_queued_to to)
{
    for (uint32_t probe = 0; probe < PROBES; probe++) {
        struct rcu_head *empty = NULL;
        if (rtrcu_compare_exchange(slot_of(cb, table, head, probe), &empty, entry_of(head, to)))
            return true;
    }
    return false;
}

static uint32_t count_slots(struct callback *cb, const struct rcu_head *head)
{
    uint32_t count = 0;
    for (uint32_t table = 0; table <= CALLBACK_DOUBLE_MORE && table_of(cb, table); table++) {
        for (uint32_t probe = 0; probe < PROBES; probe++)
            count += is_entry_of(rtrcu_load_relaxed(slot_of(cb, table, head, probe)), head);
    }
    return count;
}

/* Two threads may queue one head at the same time.  Each takes a slot and then counts the slots that contain the head.
 *  - Our slot first:  the other thread counts both slots, and ends the program;
 *  - The other thread's slot first:  we count both slots, and end the program.
 * Forbidden: neither thread sees the slot of the other. */
void callback_double_enter(struct callback *cb, struct rcu_head *head, enum callback_queued_to to)
{
    if (!cb->tracks_heads)
        return;

    for (uint32_t table = 0; table <= CALLBACK_DOUBLE_MORE; table++) {
        if (!table_of(cb, table) && !add_table(cb, table))
            break;
        if (take_slot(cb, table, head, to))
            break;
    }

    rtrcu_fence_full();
    if (count_slots(cb, head) > 1)
        plat_die("rtrcu: %s(): head %p is queued already and its callback has not begun; use another head\n",
                 to == CALLBACK_NATIVE ? "call_rcu" : "call_srcu", (void *)head);
}

void callback_double_leave(struct callback *cb, struct rcu_head *head, enum callback_queued_to to)
{
    if (!cb->tracks_heads)
        return;

    for (uint32_t table = 0; table <= CALLBACK_DOUBLE_MORE && table_of(cb, table); table++) {
        for (uint32_t probe = 0; probe < PROBES; probe++) {
            struct rcu_head *expected = entry_of(head, to);
            if (rtrcu_compare_exchange(slot_of(cb, table, head, probe), &expected, NULL))
                return;
        }
    }
}

void callback_double_after_fork(struct callback *cb)
{
    if (!cb->tracks_heads)
        return;

    for (uint32_t table = 0; table <= CALLBACK_DOUBLE_MORE && table_of(cb, table); table++) {
        struct rcu_head **slots = table_of(cb, table);
        for (uint64_t slot = 0; slot < slots_of(table); slot++) {
            if ((uintptr_t)slots[slot] & CALLBACK_OF_DOMAIN)
                slots[slot] = NULL;
        }
    }
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The bound of the whole backlog: qmax_process, and each queue's share of it while it is exceeded.
 *
 * Collectors add the callbacks that they collect to one sum, invokers add the callbacks that have returned to another,
 * and the backlog is the difference.  Neither sum has callbacks that no driver has collected yet.
 * tested by: test/unit/callback/bound.cc
 */
#include "callback/callback.h"

/* The backlog of the process.  The sum of returned callbacks is read first, so the result is not below the backlog at
 * that moment. */
static uint64_t pending(const struct callback *cb)
{
    uint64_t returned = rtrcu_load_acquire(&cb->bound.returned);
    return rtrcu_load_relaxed(&cb->bound.collected) - returned;
}

static bool should_be_raised(const struct callback *cb, bool raised)
{
    uint64_t limit = callback_process_limit(cb);
    return pending(cb) > (raised ? limit - limit / 8 : limit);
}

/* [O40] Judging half; the returning half is callback_bound_return().  After each change of the flag we read the sums
 * again and judge anew.
 *  - Our change of the flag first:  the returning thread, which changes its sum and then reads the flag, judges too;
 *  - The returning thread's sum first:  we read that sum when we judge anew, and change the flag back.
 * Forbidden: the flag stays as we set it AND neither thread judges the flag by the last sum. */
void callback_bound_judge(struct callback *cb)
{
    uint32_t raised = rtrcu_load_acquire(&cb->bound.raised);
    uint32_t wanted = should_be_raised(cb, raised);

    while (wanted != raised) { /* ends unless the sums keep moving across both limits */
        if (rtrcu_compare_exchange(&cb->bound.raised, &raised, wanted)) {
            raised = wanted;
            if (raised)
                callback_check_again_all(cb); /* owners would check their shares too late otherwise */
        }
        wanted = should_be_raised(cb, raised);
    }
}

void callback_bound_collect(struct callback *cb, struct callback_slot *slot)
{
    uint64_t queued = cbqueue_enqueued(&slot->queue) + rtrcu_load_relaxed(&slot->free_queued);
    uint64_t more = queued - slot->collected;
    slot->collected = queued;
    if (more)
        rtrcu_fetch_add(&cb->bound.collected, more);
}

/* [O40] Returning half; the judging half is callback_bound_judge().  We change the sum, then read the flag. */
void callback_bound_return(struct callback *cb, struct callback_slot *slot)
{
    uint64_t returned = rtrcu_load_relaxed(&slot->queue.invoked) + rtrcu_load_relaxed(&slot->free_done);
    uint64_t more = returned - slot->returned;
    if (!more)
        return;

    slot->returned = returned;
    uint64_t sum = rtrcu_fetch_add(&cb->bound.returned, more) + more;
    invariant("INV-CA3", (int64_t)(rtrcu_load_relaxed(&cb->bound.collected) - sum) >= 0);
    if (rtrcu_load_acquire(&cb->bound.raised))
        callback_bound_judge(cb);
}

void callback_bound_count(struct callback *cb, const struct reader_record *record, bool was)
{
    bool is = callback_is_busy(record);
    if (is && !was)
        tally_raise(&cb->bound.queues);
    if (was && !is)
        (void)tally_lower(&cb->bound.queues);
}

/* In a fork's child: set the sums to the callbacks that its queues hold. */
void callback_bound_after_fork_child(struct callback *cb)
{
    uint64_t collected = 0;
    tally_reset(&cb->bound.queues);

    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_leaf(cb->registry, leaf));) {
        struct reader_record *record;
        for (uint32_t left = READER_ALL_SLOTS; (record = reader_next(leaf, &left));) {
            struct callback_slot *slot = callback_slot(record);
            slot->collected = slot->queue.enqueued + slot->free_queued;
            slot->returned = slot->queue.invoked + slot->free_done;
            collected += slot->collected - slot->returned;
            callback_bound_count(cb, record, false);
        }
    }

    rtrcu_store_relaxed(&cb->bound.collected, collected);
    rtrcu_store_relaxed(&cb->bound.returned, 0);
    callback_bound_judge(cb);
}

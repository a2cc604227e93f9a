/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Counters of the room.
 *
 * tested by: test/unit/watch/watch.cc
 */
#include "callback/callback.h"

void callback_count_over_qmax(struct callback *cb)
{
    counter_add(&cb->over_qmax, 1);
    trace1(over_qmax, cb->gp);
}

void callback_count_blocked(struct callback *cb)
{
    counter_add(&cb->blocked_at_qmax, 1);
}

bool callback_count_leaked(struct callback *cb)
{
    return counter_add(&cb->frees_leaked, 1) == 0;
}

/* When the oldest callback that has not returned was queued; 0: there is none.  A hint. */
static int64_t oldest_of(const struct callback_slot *slot)
{
    const int64_t *since[] = {&slot->batch_ns, &slot->oldest_ready_ns, &slot->waiting_ns[0], &slot->oldest_ns};
    for (unsigned int i = 0; i < sizeof(since) / sizeof(since[0]); i++)
        if (rtrcu_load_relaxed(since[i]))
            return rtrcu_load_relaxed(since[i]);
    return 0;
}

static void add_slot(const struct callback_slot *slot, struct rtrcu_stats *stats)
{
    uint64_t returned = rtrcu_load_acquire(&slot->queue.invoked) + rtrcu_load_acquire(&slot->free_done);
    uint64_t queued = rtrcu_load_relaxed(&slot->queue.enqueued) + rtrcu_load_relaxed(&slot->free_queued);
    uint64_t oldest_ns = queued != returned ? (uint64_t)oldest_of(slot) : 0;

    if (oldest_ns && (stats->callback_oldest_ns == 0 || oldest_ns < stats->callback_oldest_ns))
        stats->callback_oldest_ns = oldest_ns;

    uint64_t longest_ns = rtrcu_load_acquire(&slot->longest_ns);
    if (longest_ns > stats->callback_ns_max) {
        stats->callback_ns_max = longest_ns;
        stats->callback_longest = (uintptr_t)rtrcu_load_relaxed(&slot->longest);
    }

    stats->callbacks_invoked += returned;
    stats->callbacks_queued += queued;
}

void callback_stats(const struct callback *cb, struct rtrcu_stats *stats)
{
    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_leaf(cb->registry, leaf));) {
        const struct callback_leaf *part = callback_leaf(leaf);
        for (uint32_t slot = 0; slot < READER_FANOUT; slot++)
            add_slot(&part->slot[slot], stats);
        stats->callbacks_by_owner += counter_read(&part->by_owner);
        for (int i = 0; i < RTRCU_LATENCY_BUCKETS; i++)
            stats->latency_us_log2[i] += counter_read(&part->latency_us_log2[i]);
    }

    stats->callbacks_backlog = stats->callbacks_queued - stats->callbacks_invoked;
    stats->callbacks_lost_at_fork = counter_read(&cb->lost_at_fork);
    stats->over_qmax = counter_read(&cb->over_qmax);
    stats->blocked_at_qmax = counter_read(&cb->blocked_at_qmax);
    stats->limit_raised = counter_read(&cb->limit_raised);
    stats->deadline_stops = counter_read(&cb->deadline_stops);
    stats->budget_stops = counter_read(&cb->budget_stops);
    stats->limit_stops = counter_read(&cb->limit_stops);
    stats->frees_leaked = counter_read(&cb->frees_leaked);
    stats->callbacks_direct = counter_read(&cb->direct);
    stats->direct_refused = counter_read(&cb->direct_refused);
}

static const struct inspect_field fields[] = {
    INSPECT_ARRAY("callback.slot", struct callback_leaf, slot),
    INSPECT_FIELD("callback.by_owner", struct callback_leaf, by_owner),
    INSPECT_ARRAY("callback.wait_us_log2", struct callback_leaf, latency_us_log2),
    INSPECT_FIELD("slot.oldest_ns", struct callback_slot, oldest_ns),
    INSPECT_FIELD("slot.oldest_waiting_ns", struct callback_slot, waiting_ns[0]),
    INSPECT_FIELD("slot.oldest_ready_ns", struct callback_slot, oldest_ready_ns),
    INSPECT_FIELD("slot.batch_ns", struct callback_slot, batch_ns),
    INSPECT_FIELD("slot.longest_ns", struct callback_slot, longest_ns),
    INSPECT_FIELD("slot.longest_function", struct callback_slot, longest),
    INSPECT_FIELD("queue.queued", struct cb_queue, enqueued),
    INSPECT_FIELD("slot.free_queued", struct callback_slot, free_queued),
    INSPECT_FIELD("slot.free_done", struct callback_slot, free_done),
    INSPECT_FIELD("slot.queued", struct callback_slot, queue.enqueued),
    INSPECT_FIELD("slot.invoked", struct callback_slot, queue.invoked),
    INSPECT_FIELD("slot.ready", struct callback_slot, queue.has_ready),
    INSPECT_FIELD("slot.invoker", struct callback_slot, queue.claim),
    INSPECT_FIELD("slot.function", struct callback_slot, queue.function),
    INSPECT_FIELD("callbacks.barriers", struct callback, barriers),
    INSPECT_FIELD("callbacks.over_qmax", struct callback, over_qmax),
    INSPECT_FIELD("callbacks.blocked_at_qmax", struct callback, blocked_at_qmax),
    INSPECT_FIELD("callbacks.limit_raised", struct callback, limit_raised),
    INSPECT_FIELD("callbacks.deadline_stops", struct callback, deadline_stops),
    INSPECT_FIELD("callbacks.budget_stops", struct callback, budget_stops),
    INSPECT_FIELD("callbacks.limit_stops", struct callback, limit_stops),
    INSPECT_FIELD("callbacks.lost_at_fork", struct callback, lost_at_fork),
    INSPECT_FIELD("callbacks.direct", struct callback, direct),
    INSPECT_FIELD("callbacks.direct_refused", struct callback, direct_refused),
    INSPECT_FIELD("callbacks.frees_leaked", struct callback, frees_leaked),
};

const struct inspect_table callback_inspect_table = INSPECT_TABLE(fields);

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Counters: gathered from where each is kept, never kept together.
 *
 * tested by: test/unit/watch/watch.cc
 */
#include "watch/watch.h"

static void add_record(struct reader_record *record, struct rtrcu_stats *stats)
{
    uint64_t invoked = rtrcu_load_acquire(&record->queue.invoked) + rtrcu_load_acquire(&record->free_done);
    uint64_t queued = rtrcu_load_relaxed(&record->queue.enqueued) + rtrcu_load_relaxed(&record->free_queued);
    stats->callbacks_invoked += invoked;
    stats->callbacks_queued += queued;
    stats->slow_locks += rtrcu_load_relaxed(&record->slow_calls);
}

static void add_gp(const struct watch *watch, struct rtrcu_stats *stats)
{
    const struct gp_machine *normal = &watch->gp->machine[GP_NORMAL];
    stats->gp_completed = rtrcu_load_relaxed(&normal->completed);
    stats->gp_busy = rtrcu_load_relaxed(&normal->busy);
    stats->gp_slept = rtrcu_load_relaxed(&normal->slept);
    stats->gp_by_caller = rtrcu_load_relaxed(&normal->by_caller);
    stats->gp_ns_last = (uint64_t)rtrcu_load_relaxed(&normal->ns_last);
    stats->gp_ns_max = (uint64_t)rtrcu_load_relaxed(&normal->ns_max);
    stats->exp_completed = rtrcu_load_relaxed(&watch->gp->machine[GP_EXPEDITED].completed);
}

void watch_stats(const struct watch *watch, struct rtrcu_stats *stats)
{
    struct reader_registry *registry = watch->gp->registry;
    struct callback *cb = watch->cb;
    add_gp(watch, stats);
    stats->full_fences = reader_fences_are_full(registry);
    stats->stall_reports = rtrcu_load_relaxed(&watch->stall_reports);
    stats->threads_registered = rtrcu_load_relaxed(&registry->registered);
    stats->threads_peak = rtrcu_load_relaxed(&registry->registered_peak);
    stats->threads_deadline = rtrcu_load_relaxed(&registry->deadline_count);
    for (uint32_t i = 0; i < reader_leaf_count(registry); i++) {
        struct reader_leaf *leaf = reader_leaf_at(registry, i);
        for (uint32_t slot = 0; leaf && slot < READER_FANOUT; slot++)
            add_record(&leaf->records[slot], stats);
    }
    stats->callbacks_backlog = stats->callbacks_queued - stats->callbacks_invoked;
    stats->callbacks_by_owner = rtrcu_load_relaxed(&cb->by_owner);
    stats->callbacks_lost_at_fork = rtrcu_load_relaxed(&cb->lost_at_fork);
    stats->over_qmax = rtrcu_load_relaxed(&cb->over_qmax);
    stats->blocked_at_qmax = rtrcu_load_relaxed(&cb->blocked_at_qmax);
    stats->limit_raised = rtrcu_load_relaxed(&cb->limit_raised);
    stats->deadline_stops = rtrcu_load_relaxed(&cb->deadline_stops);
    stats->budget_stops = rtrcu_load_relaxed(&cb->budget_stops);
    stats->limit_stops = rtrcu_load_relaxed(&cb->limit_stops);
    stats->frees_leaked = rtrcu_load_relaxed(&cb->frees_leaked);
    stats->callbacks_lost = rtrcu_load_relaxed(&cb->lost);
    stats->callbacks_direct = rtrcu_load_relaxed(&cb->direct);
    stats->direct_refused = rtrcu_load_relaxed(&cb->direct_refused);
    for (int i = 0; i < RTRCU_LATENCY_BUCKETS; i++)
        stats->latency_us_log2[i] = rtrcu_load_relaxed(&cb->latency_us_log2[i]);
}

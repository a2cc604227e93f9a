/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Counters: gathered from where each is kept, never kept together.
 *
 * tested by: test/unit/watch/watch.cc
 */
#include "watch/watch.h"

void watch_stats(const struct watch *watch, struct rtrcu_stats *stats)
{
    reader_stats(watch->registry, stats);
    gp_stats(watch->gp, stats);
    callback_stats(watch->cb, stats);
    stats->stall_reports = counter_read(&watch->stall_reports);
}

static const struct inside_field fields[] = {
    INSIDE_FIELD("watch.stall_reports", struct watch, stall_reports),
    INSIDE_FIELD("task.name", struct rcu_task, name),
};

const struct inside_table watch_inside_table = INSIDE_TABLE(fields);

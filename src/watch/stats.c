/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Statistics: gathered from the rooms that keep each counter; there is no central copy.
 *
 * tested by: test/unit/watch/watch.cc
 */
#include "watch/watch.h"

void watch_note_section(struct watch *watch, uint64_t ns, uintptr_t entered)
{
    /* Plain stores: an exchange would put a fence at the end of a section, where sections avoid one. */
    if (ns <= rtrcu_load_relaxed(&watch->section_ns_max))
        return;

    rtrcu_store_relaxed(&watch->section_ns_max, ns);
    rtrcu_store_relaxed(&watch->section_longest, entered);
}

void watch_stats(const struct watch *watch, struct rtrcu_stats *stats)
{
    reader_stats(watch->registry, stats);
    gp_stats(watch->gp, stats);
    callback_stats(watch->cb, stats);

    stats->stall_reports = counter_read(&watch->stall_reports);
    stats->section_ns_max = rtrcu_load_relaxed(&watch->section_ns_max);
    stats->section_longest = rtrcu_load_relaxed(&watch->section_longest);
}

static const struct inspect_field fields[] = {
    INSPECT_FIELD("watch.stall_reports", struct watch, stall_reports),
    INSPECT_FIELD("watch.section_ns_max", struct watch, section_ns_max),
    INSPECT_FIELD("watch.section_longest", struct watch, section_longest),
    INSPECT_FIELD("task.name", struct rcu_task, name),
};

const struct inspect_table watch_inspect_table = INSPECT_TABLE(fields);

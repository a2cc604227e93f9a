/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The stall report: a grace period that does not end, and who is in its way.
 *
 * tested by: test/api/stall.cc
 */
#include "watch/watch.h"

int64_t watch_next_report(const struct watch *watch, int64_t previous)
{
    if (callback_config(watch->cb)->stall_timeout_ms == 0)
        return INT64_MAX;
    return previous ? previous * 3 : callback_config(watch->cb)->stall_timeout_ms * 1000000;
}

static void report_reader(struct gp *gp, enum gp_kind kind, struct reader_record *record)
{
    char name[32];
    uint32_t inside = reader_inside(record);
    plat_thread_name((int)record->thread_id, name, sizeof(name));
    if (inside & RTRCU_QSBR_ONLINE)
        plat_print("rtrcu:   thread %u \"%s\": quiescent-state discipline, online, has not said rcu_quiescent_state();"
                   " explicit nesting %u\n",
                   record->thread_id, name, inside & RTRCU_NESTING_MASK);
    else
        plat_print("rtrcu:   thread %u \"%s\": preemptible, inside a read-side critical section, nesting %u\n",
                   record->thread_id, name, inside & RTRCU_NESTING_MASK);
    (void)gp;
    (void)kind;
}

void watch_stall_report(struct watch *watch, enum gp_kind kind, int64_t now)
{
    struct gp *gp = watch->gp;
    const struct gp_machine *machine = &gp->machine[kind];
    rtrcu_fetch_add(&watch->stall_reports, 1);
    plat_print("rtrcu: %s grace period %llu has not ended for %lld ms (thread %u turns the crank); in its way:\n",
               kind == GP_NORMAL ? "normal" : "expedited", (unsigned long long)(machine->seq / SEQ_STEP),
               (long long)((now - machine->began_ns) / 1000000), lock_thread_id());
    for (uint32_t i = 0; i < machine->leaves; i++) {
        struct reader_leaf *leaf = reader_leaf_at(gp->registry, i);
        if (!leaf || !gp_owing(gp, kind, i))
            continue;
        lock_acquire(&leaf->lock);
        uint32_t left = gp_owing(gp, kind, i) & rtrcu_load_acquire(&leaf->registered);
        for (; left; left &= left - 1)
            report_reader(gp, kind, &leaf->records[__builtin_ctz(left)]);
        lock_release(&leaf->lock);
    }
    if (machine->anonymous_busy)
        plat_print("rtrcu:   %u threads without a record (exiting, or no memory) inside sections\n",
                   rtrcu_load_relaxed(&gp->registry->anonymous));
    struct rtrcu_stats stats = {.size = sizeof(stats)};
    watch_stats(watch, &stats);
    plat_print("rtrcu:   callbacks queued behind it: %llu\n", (unsigned long long)stats.callbacks_backlog);
}

void watch_fence_report(struct watch *watch, int error)
{
    rtrcu_fetch_add(&watch->stall_reports, 1);
    plat_print(
        "rtrcu: grace periods stand still: the kernel refuses membarrier() (error %d) and no other fence reaches all"
        " threads yet; set RTRCU_MEMBARRIER=off at start where a sandbox forbids it\n",
        -error);
}

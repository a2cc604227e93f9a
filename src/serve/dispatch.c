/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The choice of the thread that invokes ready callbacks: their owner, or a daemon.
 *
 * tested by: test/unit/serve/dispatch.cc
 */
#include "serve/serve.h"

/* The CPU on which the owner runs, whose caches may still hold the objects that its callbacks touch.  A slot whose
 * callbacks have all returned meanwhile may already belong to a new thread. */
uint32_t serve_cpu_of(const struct serve *serve, const struct reader_record *record)
{
    uint32_t cpu = reader_is_registered(record) ? reader_cpu(record) : UINT32_MAX;
    return plat_cpus_pick(&work_attr(serve->work)->cpus, cpu == UINT32_MAX ? reader_slot(record) : cpu);
}

static bool dispatch_leaf(struct serve *serve, struct reader_leaf *leaf, int64_t now,
                          struct serve_call_budget *call_budget)
{
    struct reader_record *give[READER_FANOUT];
    uint32_t cpu[READER_FANOUT], count = 0, owners = 0;
    bool punts = callback_punts(serve->cb);

    callback_queues_lock(leaf);
    reader_lock(leaf);
    struct reader_record *record;
    for (uint32_t left = callback_busy_slots(leaf); (record = reader_next(leaf, &left));) {
        enum callback_server server = callback_advance(serve->cb, record, now);
        if (server == CALLBACK_OWNER)
            owners |= reader_bit(record);
        if (server != CALLBACK_DAEMON)
            continue;
        give[count] = record;
        cpu[count++] = serve_cpu_of(serve, record);
    }

    bool ready = callback_ready(leaf) != 0;
    callback_unmark_if_empty(serve->cb, leaf);
    reader_unlock(leaf);
    callback_queues_unlock(leaf);
    serve_ready_notify(leaf, owners);

    /* Enqueue with no lock held: a daemon may have to be created, or the callbacks run here. */
    for (uint32_t i = 0; i < count; i++) {
        callback_report_missed_call(serve->cb, give[i]);
        /* If no daemon is allowed or can be created, run a batch here; the next pass tries again. */
        if (!work_driver_has_thread(serve->work) || !serve_daemon_enqueue(serve, give[i], cpu[i], punts))
            serve_in_call(serve, give[i], call_budget);
    }

    return ready;
}

bool serve_dispatch_within(struct serve *serve, struct serve_call_budget *call_budget)
{
    bool ready = false;
    int64_t now = plat_clock_now();
    work_message(serve->work);
    /* The collector requests a grace period after it sets the mark, so a thread that sees the request sees the mark. */
    for (struct reader_leaf *leaf = NULL; (leaf = callback_next_busy(serve->cb, leaf));)
        ready |= dispatch_leaf(serve, leaf, now, call_budget);
    if (ready)
        serve_relieve(serve, now);
    return ready;
}

bool serve_dispatch(struct serve *serve)
{
    return serve_dispatch_within(serve, &(struct serve_call_budget){.ns = PLAT_FOREVER});
}

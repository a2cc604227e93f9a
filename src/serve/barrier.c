/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Waiting for callbacks: rcu_barrier(), producers at their limit with backpressure=block, and defer_rcu().
 *
 * tested by: test/api/callbacks.cc
 */
#include "serve/serve.h"

/* Called once per tick while the calling thread advances a grace period: dispatches callbacks whose owner or daemon has
 * exited meanwhile, or that one batch did not cover.  True if the barrier's goals are reached, so the caller stops
 * waiting. */
static bool serve_until_reached(struct serve *serve)
{
    (void)serve_dispatch(serve);
    return callback_barrier_reached(serve->cb);
}

/* The driver has no thread: make a driver's pass here.  Ready callbacks run first, and keep running while the pass
 * waits for readers, since that wait may concern only callbacks queued later. */
static void help(struct serve *serve)
{
    static const struct turn_options options = {.by_caller = true, .serve = serve_until_reached};

    callback_collect(serve->cb);
    serve_dispatch(serve);
    if (callback_barrier_reached(serve->cb))
        return;

    turn_if_needed(turn_gp_state(serve->turn, GP_NORMAL), &options);
    serve_dispatch(serve);
}

static bool barrier_reached(struct serve *serve, void *unused)
{
    (void)unused;
    return callback_barrier_reached(serve->cb);
}

struct barrier {
    struct serve *serve;
    struct reader_record *own;
    int64_t began_ns, report_ns;
    uint32_t generation; /* fork.generation of the process that has counted this barrier */
    int64_t deadline_ns; /* the caller's deadline, suspended during the wait: after it, the caller would run no more of
                            the callbacks that it waits for */
};

/* Report a barrier that does not end, at the ages at which a stalled grace period is reported: stall_timeout_ms, then
 * growing ages. */
static void report_if_old(struct barrier *barrier)
{
    int64_t age_ns = plat_clock_now() - barrier->began_ns;
    if (age_ns < barrier->report_ns)
        return;

    watch_barrier_gather(barrier->serve->watch, age_ns);
    work_report(barrier->serve->work);
    work_report_left(barrier->serve->work); /* no reader and no grace period needs the barrier lock */
    barrier->report_ns = watch_next_report(barrier->serve->watch, barrier->report_ns);
}

/* If a callback that the caller ran has forked, count this barrier again: a fork's child begins with no barrier counted
 * and with the lock free. */
static void count_in_this_process(struct barrier *barrier)
{
    if (barrier->generation == barrier->serve->fork.generation)
        return;
    barrier->generation = barrier->serve->fork.generation;
    callback_barrier_begin(barrier->serve->cb);
}

/* End the barrier, and restore the caller's deadline; also when a callback invoked by the caller throws.  If a callback
 * has unregistered the caller, the slot may belong to another thread, whose deadline is left alone. */
static void end_barrier(struct barrier *barrier)
{
    if (barrier->own && barrier->own == reader_self())
        callback_set_deadline(barrier->own, barrier->deadline_ns);
    if (barrier->generation == barrier->serve->fork.generation)
        callback_barrier_end(barrier->serve->cb);
    lock_release_if_mine(&barrier->serve->barrier_lock);
}

void serve_barrier(struct serve *serve)
{
    work_take_long(serve->work, &serve->barrier_lock);
    struct barrier barrier __attribute__((cleanup(end_barrier))) = {.serve = serve, .own = reader_self()};

    barrier.generation = serve->fork.generation;
    callback_barrier_begin(serve->cb);
    barrier.began_ns = plat_clock_now();
    barrier.report_ns = watch_next_report(serve->watch, 0);

    if (barrier.own) {
        barrier.deadline_ns = callback_deadline(barrier.own);
        callback_set_deadline(barrier.own, 0);
    }

    callback_barrier_set(serve->cb);
    while (!barrier_reached(serve, NULL)) { /* ends when the callbacks queued before have returned */
        count_in_this_process(&barrier);
        if (work_driver_start(serve->work) != 0 || !work_driver_has_thread(serve->work))
            help(serve);
        serve_progress_wait(serve, barrier_reached, NULL, PLAT_FOREVER);
        report_if_old(&barrier);
    }
}

static bool is_below_full(struct serve *serve, void *record)
{
    return !callback_is_full(serve->cb, record);
}

/* Could the calling thread wait for itself?  The backlog needs a grace period, which a parked or listed section of a
 * task may hold up.  The calling thread may be inside that section, or may run the task next, and a listed section
 * leaves no trace on threads. */
static bool may_wait_for_itself(const struct serve *serve, const struct reader_record *record)
{
    return !callback_has_ready(record) && parked_anywhere(serve->registry);
}

/* Does a thread of the library advance grace periods and run callbacks? */
static bool is_served(struct serve *serve)
{
    return work_driver_has_thread(serve->work) && work_driver_runs(serve->work);
}

/* The wait is bounded, since a backlog that makes no progress may depend on the calling thread: on a lock that the
 * thread holds, or on the allocator's lock if the caller is a signal handler that interrupted the allocator.  Daemons
 * may serve many other queues first, so callbacks of any queue that return extend the wait, but not forever. */
bool serve_wait_below_full(struct serve *serve, struct reader_record *record)
{
    struct work_patience patience = {0};
    bool waited = false;

    while (!is_below_full(serve, record)) { /* ends when daemons have caught up, or make no progress */
        int64_t left_ns = work_patience_left(&patience, callback_returned(record), callback_bound_returned(serve->cb));
        if (!is_served(serve) || left_ns < 0 || may_wait_for_itself(serve, record))
            return false;

        if (!waited)
            callback_count_blocked(serve->cb);
        waited = true;
        serve_progress_wait(serve, is_below_full, record, left_ns);
    }

    return true;
}

/* Value: a record, and the number of pending callbacks below which a wait ends. */
struct backlog {
    const struct reader_record *record;
    uint64_t limit;
};

static bool is_below(struct serve *serve, void *argument)
{
    const struct backlog *backlog = argument;
    (void)serve;
    return callback_pending(backlog->record) < backlog->limit;
}

void serve_wait_for_backlog(struct serve *serve, const struct reader_record *record, uint64_t limit)
{
    struct backlog backlog = {record, limit};
    int64_t until = plat_clock_now() + WORK_PATIENCE_NS, left_ns;

    callback_owner_waits(record, true);
    while (!is_below(serve, &backlog) && (left_ns = until - plat_clock_now()) > 0) { /* at the latest at `until` */
        if (!is_served(serve) || may_wait_for_itself(serve, record))
            break;
        serve_progress_wait(serve, is_below, &backlog, left_ns);
    }
    callback_owner_waits(record, false);
}

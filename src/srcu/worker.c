/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The worker, a thread that serves all domains in turn, and the wait for callbacks.
 *
 * The worker never waits for one domain's readers: it polls a grace period that they hold up.  Without a worker,
 * callers of srcu_barrier() serve the domains.
 * tested by: test/api/srcu.cc
 */
#include <pthread.h>

#include "srcu/srcu.h"

/* The time until the next poll of a gp that waits for readers: a tick at first, then longer. */
static int64_t rest_of(const struct srcu *all, const struct srcu_struct *domain)
{
    int64_t began_ns = rtrcu_load_relaxed(&srcu_inner_const(domain)->began_ns), tick_ns = work_tick_ns(all->work);
    int64_t quarter_ns = began_ns ? (plat_clock_now() - began_ns) / 4 : 0;
    int64_t rest_ns = quarter_ns > tick_ns ? quarter_ns : tick_ns;
    return rest_ns < SRCU_REST_NS ? rest_ns : SRCU_REST_NS;
}

/* Serve one domain.  True: callbacks are ready, and the caller must run them.  Else *@due becomes the time until the
 * next poll, if that is less. */
static bool serve(struct srcu *all, struct srcu_struct *domain, int64_t *due)
{
    struct srcu_inner *inner = srcu_inner(domain);
    if (srcu_pending(domain) == 0 && seq_reached(rtrcu_load_relaxed(&inner->seq), rtrcu_load_relaxed(&inner->wanted)))
        return false;

    if (srcu_collect(domain))
        return true;
    (void)srcu_step(domain);
    if (srcu_collect(domain))
        return true;

    srcu_report_if_old(all, domain);
    int64_t rest_ns = rest_of(all, domain);
    *due = rest_ns < *due ? rest_ns : *due;
    return false;
}

/* The next domain that this pass has not served and that has callbacks to run.  NULL: none. */
static struct srcu_struct *next_ready(struct srcu *all, uint32_t pass, int64_t *due)
{
    struct srcu_struct *domain;
    lock_acquire(&all->lock);
    for (domain = all->first; domain; domain = domain->next) {
        struct srcu_inner *inner = srcu_inner(domain);
        srcu_must_be_intact(all, domain);
        bool served = inner->pass == pass;
        inner->pass = pass;
        if (!served && serve(all, domain, due))
            break;
    }
    lock_release(&all->lock);
    return domain;
}

/* Serve each domain once.  Returns nanoseconds until the next pass is due: 0 = now. */
static int64_t pass(struct srcu *all)
{
    int64_t due = PLAT_FOREVER;
    lock_acquire(&all->lock);
    uint32_t number = ++all->pass;
    lock_release(&all->lock);

    struct srcu_struct *domain;
    while ((domain = next_ready(all, number, &due))) { /* bounded: each pass returns a domain only once */
        int64_t rest_ns = srcu_run(all, domain) ? 0 : work_tick_ns(all->work);
        due = rest_ns < due ? rest_ns : due;
    }
    return due;
}

/* Called when a callback has ended the worker's thread: end the program, since no thread would run the rest of the
 * batch. */
static void on_thread_end(void *unused)
{
    (void)unused;
    plat_die("rtrcu: a callback of call_srcu() has ended the thread that serves all domains; callbacks must return\n");
}

/* The worker's thread: alternately serve all domains and sleep.  The event is read before the queues, so a call_srcu()
 * after the pass ends the sleep.  Deadline threads wake no thread, so the sleep is bounded while one exists. */
static void *body(void *argument)
{
    struct srcu *all = argument;
    pthread_cleanup_push(on_thread_end, NULL);
    while (work_goes_on(all->work)) {
        uint32_t event = work_thread_event(&all->thread);
        int64_t due = pass(all);
        if (due > SRCU_REST_NS && reader_deadline_exists(all->registry))
            due = SRCU_REST_NS;
        if (due)
            work_thread_sleep(all->work, &all->thread, event, due);
    }
    pthread_cleanup_pop(0);
    return NULL;
}

static int start(struct srcu *all)
{
    struct work_thread_spec spec = {.name = "rtrcu-srcu", .body = body, .argument = all};
    sigset_t saved;
    if (!work_driver_has_thread(all->work))
        return -EAGAIN; /* with driver=sched the library has no threads */
    int claimed = work_thread_claim(all->work, &all->thread, &saved);
    return claimed > 0 ? work_thread_make(all->work, &all->thread, &spec, &saved) : claimed;
}

bool srcu_notify(struct srcu *all)
{
    bool exists = work_thread_exists(&all->thread);
    if (exists && reader_self_is(READER_STATE_DEADLINE))
        return true;
    if (!exists && start(all) != 0)
        return false;
    work_thread_wake(&all->thread);
    return true;
}

void srcu_report_no_worker(struct srcu *all)
{
    if (!rtrcu_exchange(&all->worker_missed, 1))
        plat_print("rtrcu: call_srcu(): the thread that serves domains cannot be created; their callbacks wait for"
                   " srcu_barrier() or for that thread (printed once)\n");
}

/* Wait until the callbacks queued before this call have returned.  Meanwhile the caller serves the domains itself in
 * two cases: it is the worker, inside a callback of another domain; or no worker can be notified. */
void srcu_wait_for_callbacks(struct srcu *all, struct srcu_struct *domain)
{
    struct srcu_marker marker;
    if (srcu_runner_is_me(domain))
        plat_die("rtrcu: thread %u: srcu_barrier(%s) inside a callback of that domain would wait for itself; call it"
                 " outside callbacks of the domain\n",
                 lock_thread_number(), domain->name);

    srcu_marker_queue(domain, &marker);
    for (;;) { /* ends when the callbacks before the marker have returned */
        uint32_t batches = rtrcu_load_acquire(&all->batches);
        if (srcu_marker_is_done(&marker))
            break;
        bool others_serve = !work_thread_is_me(&all->thread) && srcu_notify(all);
        int64_t due = others_serve ? PLAT_FOREVER : pass(all);
        if (due)
            work_sleep(all->work, &all->batches, batches, due);
    }
}

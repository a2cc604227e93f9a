/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The worker that prints reports.  It holds no lock, so a full pipe, the loader's lock or a handler of the program may
 * block it without harm; the reported grace period still ends when its readers end.  It has the priority of the threads
 * that advance grace periods, if permitted, since threads that keep readers from running could also delay the report.
 *
 * tested by: test/api/stall.cc
 */
#include <pthread.h>

#include "work/work.h"

void work_report(struct work *work)
{
    struct work_worker *reporter = work_worker(work, WORK_WORKER_REPORT);
    if (work_worker_start(reporter) == 0)
        work_worker_wake(reporter);
    else
        rtrcu_store_relaxed(&work->report_is_left, 1);
}

void work_report_left(struct work *work)
{
    if (rtrcu_load_relaxed(&work->report_is_left) && rtrcu_exchange(&work->report_is_left, 0))
        watch_report_print_here(work->watch);
}

void work_message(struct work *work)
{
    struct work_worker *reporter = work_worker(work, WORK_WORKER_REPORT);
    if (!callback_message_waits(work->cb))
        return;
    if (work_worker_start(reporter) == 0)
        work_worker_wake(reporter);
    else
        (void)callback_message_write(work->cb);
}

bool work_visit_begins(struct work *work)
{
    struct work_worker *reporter = work_worker(work, WORK_WORKER_REPORT);
    struct work_visit *visit = &work->visit;
    uint32_t nobody = 0;
    if (!rtrcu_compare_exchange(&visit->visitor, &nobody, lock_thread_number()))
        return false;

    rtrcu_store_release(&visit->began_ns, plat_clock_now());
    if (work_worker_start(reporter) == 0)
        work_worker_wake(reporter);
    return true;
}

void work_visit_ends(struct work *work)
{
    rtrcu_store_relaxed(&work->visit.began_ns, 0);
    rtrcu_store_release(&work->visit.visitor, 0);
}

/* The visit that the worker watches: the start time of the visit, and the age at which its next report is due. */
struct visit_known {
    int64_t began_ns, report_ns;
};

/* Gather a report if the visit is too old.  Returns the time until the next check. */
static int64_t check_visit(struct work *work, struct visit_known *known)
{
    int64_t began_ns = rtrcu_load_acquire(&work->visit.began_ns), age_ns = plat_clock_now() - began_ns;
    struct plat_tid visitor = {rtrcu_load_relaxed(&work->visit.visitor)};

    if (began_ns == 0 || plat_tid_is_nobody(visitor))
        return PLAT_FOREVER;

    if (began_ns != known->began_ns)
        *known = (struct visit_known){.began_ns = began_ns, .report_ns = watch_next_report(work->watch, 0)};
    if (age_ns >= known->report_ns) {
        watch_visit_gather(work->watch, visitor, rtrcu_load_relaxed(&work->visit.next_cpu), age_ns);
        known->report_ns = watch_next_report(work->watch, known->report_ns);
    }

    return known->report_ns - age_ns;
}

/* Called when the program's handler has ended the thread: the next report creates another thread. */
static void on_thread_end(void *argument)
{
    struct work_worker *worker = argument;
    work_thread_ended(worker->work, &worker->thread);
}

static void *report_body(void *argument)
{
    struct work_worker *worker = argument;
    struct visit_known known = {0};
    pthread_cleanup_push(on_thread_end, worker);

    while (work_goes_on(worker->work)) { /* or until a handler ends the thread */
        uint32_t event = work_worker_event(worker);
        int64_t rest_ns = check_visit(worker->work, &known);
        if (!callback_message_write(worker->work->cb) && !watch_report_print(worker->work->watch))
            work_worker_sleep(worker, event, rest_ns);
    }
    pthread_cleanup_pop(0);
    return NULL;
}

void work_set_blocking_handler(struct work *work, void (*handler)(void))
{
    rtrcu_store_release(&work->blocking_handler, handler);
}

bool work_notify_handler(struct work *work)
{
    struct work_worker *teller = work_worker(work, WORK_WORKER_NOTIFY);
    work_worker_want(teller, 1);
    if (work_worker_start(teller) != 0)
        return false;
    work_worker_wake(teller);
    return work_worker_runs(teller); /* false if the worker is still being created, which may be refused */
}

static void run_handler(void (*handler)(void))
{
    CALL_PROGRAM();
    handler();
}

static void *notify_body(void *argument)
{
    struct work_worker *worker = argument;
    pthread_cleanup_push(on_thread_end, worker);

    while (work_goes_on(worker->work)) { /* or until a handler ends the thread */
        uint32_t event = work_worker_event(worker);
        void (*handler)(void) = rtrcu_load_acquire(&worker->work->blocking_handler);
        if (work_worker_take_wanted(worker) && handler)
            run_handler(handler);
        else
            work_worker_sleep(worker, event, PLAT_FOREVER);
    }
    pthread_cleanup_pop(0);
    return NULL;
}

/* The worker begins with kthread_prio: the threads that a report is about may keep ordinary threads from running. */
static int first_priority(const struct rtrcu_config *config, int creator)
{
    (void)creator;
    return config->kthread_prio;
}

static bool has_stall_handler(const struct work *work)
{
    return watch_has_handler(work->watch);
}

static bool has_handler(const struct work *work)
{
    (void)work;
    return true; /* the worker is started only if the program has set a handler */
}

const struct work_job work_job_report = {"rtrcu-report", report_body, first_priority, has_stall_handler};
const struct work_job work_job_notify = {"rtrcu-notify", notify_body, NULL, has_handler};

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Workers: created when first needed, asleep on a futex otherwise.
 *
 * tested by: test/api/expedited.cc
 */
#include <errno.h>

#include "work/work.h"

void work_worker_init(struct work *work, int index, const struct work_job *job, void *owner)
{
    struct work_worker *worker = work_worker(work, index);
    *worker = (struct work_worker){.work = work, .job = job, .owner = owner};
    work_worker_begins(worker, 0);
}

void work_worker_after_fork_child(struct work_worker *worker, struct plat_tid old_thread_id)
{
    struct work_worker fresh = {
        .work = worker->work, .job = worker->job, .owner = worker->owner, .thread = worker->thread};
    bool survives = work_thread_after_fork(worker->work, &fresh.thread, old_thread_id);
    work_worker_begins(&fresh, survives ? work_worker_priority(worker) : 0);
    *worker = fresh;
}

/* May the worker be created?  Driver sched is for programs that want no library threads: with it, only a worker that
 * calls a handler set by the program is created. */
static bool may_be_made(const struct work_worker *worker)
{
    return work_driver_has_thread(worker->work) ||
           (worker->job->calls_handler && worker->job->calls_handler(worker->work));
}

static void *body(void *argument)
{
    struct work_worker *worker = argument;
    void *result = worker->job->body(worker);
    work_worker_leaves(worker);
    return result;
}

int work_worker_start(struct work_worker *worker)
{
    const struct work_job *job = worker->job;
    struct work_thread_spec start = {.name = job->name, .body = body, .argument = worker};
    sigset_t saved;

    if (work_worker_runs(worker))
        return 0;
    if (!may_be_made(worker))
        return -EAGAIN;

    if (job->priority)
        start.priority = job->priority(config_now(worker->work->config), plat_sched_rt_priority());
    int claimed = work_thread_claim(worker->work, &worker->thread, &saved);
    return claimed > 0 ? work_thread_make(worker->work, &worker->thread, &start, &saved) : claimed;
}

void work_worker_sleep(struct work_worker *worker, uint32_t event, int64_t timeout_ns)
{
    work_thread_sleep(worker->work, &worker->thread, event, timeout_ns);
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Workers: made when first needed, asleep on a futex otherwise.
 *
 * tested by: test/api/expedited.cc
 */
#include <errno.h>

#include "drive/work/work.h"

void drive_worker_init(struct work *work, int index, const struct drive_job *job, void *owner)
{
    struct drive_worker *worker = drive_worker(work, index);
    *worker = (struct drive_worker){.work = work, .job = job, .owner = owner};
    drive_worker_begins(worker, 0);
}

void drive_worker_after_fork_child(struct drive_worker *worker, struct plat_tid old_thread_id)
{
    struct drive_worker fresh = {
        .work = worker->work, .job = worker->job, .owner = worker->owner, .thread = worker->thread};
    bool survives = drive_thread_after_fork(worker->work, &fresh.thread, old_thread_id);
    drive_worker_begins(&fresh, survives ? drive_worker_priority(worker) : 0);
    *worker = fresh;
}

/* Driver sched is for programs that want no thread of ours: none is made but to call a handler that the program has
 * set. */
static bool may_be_made(const struct drive_worker *worker)
{
    return drive_has_thread(worker->work) || (worker->job->calls_handler && worker->job->calls_handler(worker->work));
}

int drive_worker_start(struct drive_worker *worker)
{
    const struct drive_job *job = worker->job;
    struct drive_thread_spec start = {.name = job->name, .body = job->body, .argument = worker};
    sigset_t saved;

    if (drive_worker_runs(worker))
        return 0;
    if (!may_be_made(worker))
        return -EAGAIN;

    if (job->priority)
        start.priority = job->priority(config_now(worker->work->config));
    int claimed = drive_thread_claim(worker->work, &worker->thread, &saved);
    return claimed > 0 ? drive_thread_make(worker->work, &worker->thread, &start, &saved) : claimed;
}

void drive_worker_sleep(struct drive_worker *worker, uint32_t event, int64_t timeout_ns)
{
    drive_thread_sleep(worker->work, &worker->thread, event, timeout_ns);
}

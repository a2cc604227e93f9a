/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Workers: made when first needed, asleep on a futex otherwise.
 *
 * tested by: test/api/expedited.cc
 */
#include <errno.h>

#include "drive/drive.h"

#define REFUSED_NS 1000000000

void drive_worker_init(struct drive *drive, int index, const struct drive_job *job)
{
    drive->worker[index] = (struct drive_worker){.drive = drive, .job = job};
    lock_init(&drive->worker[index].lock, LOCK_RANK_WORKER);
}

bool drive_worker_after_fork_child(struct drive_worker *worker, uint32_t old_thread_id)
{
    struct drive_worker fresh = {.drive = worker->drive, .job = worker->job, .thread = worker->thread};
    bool survives = drive_thread_after_fork(&fresh.thread, old_thread_id);
    if (survives)
        rtrcu_store_relaxed(&fresh.priority, rtrcu_load_relaxed(&worker->priority));
    lock_init(&fresh.lock, LOCK_RANK_WORKER);
    *worker = fresh;
    return survives;
}

/* Driver sched is for programs that want no thread of ours: none is made but to call a handler that the program has
 * set. */
static bool may_be_made(struct drive *drive, int index)
{
    switch (index) {
    case DRIVE_WORKER_REPORT:
        return drive_row(drive)->body || watch_has_handler(drive->watch);
    case DRIVE_WORKER_TELL:
        return true;
    default:
        return drive_row(drive)->body;
    }
}

int drive_worker_start(struct drive *drive, int index)
{
    struct drive_worker *worker = &drive->worker[index];
    const struct drive_job *job = worker->job;
    struct drive_thread_spec start = {.name = job->name, .body = job->body, .argument = worker};
    if (drive_thread_runs(&worker->thread))
        return 0;
    if (!may_be_made(drive, index))
        return -EAGAIN;
    if (job->priority)
        start.priority = job->priority(config_now(drive->config));
    return drive_thread_start(drive, &worker->thread, &start);
}

void drive_worker_wake(struct drive *drive, int index)
{
    drive_thread_wake(&drive->worker[index].thread);
}

void drive_worker_sleep(struct drive_worker *worker, uint32_t event)
{
    drive_thread_sleep(worker->drive, &worker->thread, event, PLAT_FOREVER);
}

/* A refusal is believed for a while, so that no grace period asks again in vain. */
static bool was_refused(const struct drive_worker *worker, int priority)
{
    return worker->refused == priority && plat_clock_now() - worker->refused_ns < REFUSED_NS;
}

/* Under the worker's lock, by itself or by who lifts it.  A refusal is counted, and the first one said. */
static void set_priority(struct drive_worker *worker, int thread_id, int priority)
{
    if (rtrcu_load_relaxed(&worker->priority) == priority || was_refused(worker, priority))
        return;
    int error = thread_id ? plat_sched_lift(thread_id, priority) : plat_sched_set(priority, 0);
    if (!error) {
        rtrcu_store_relaxed(&worker->priority, priority);
        return;
    }
    worker->refused = priority;
    worker->refused_ns = plat_clock_now();
    if (counter_add(&worker->drive->rt_refused, 1) == 0) {
        plat_print(
            "rtrcu: real-time scheduling is refused (error %d): expedited grace periods and priority lending work at"
            " SCHED_OTHER; raise RLIMIT_RTPRIO or grant CAP_SYS_NICE, or set RTRCU_KTHREAD_PRIO=0\n",
            -error);
    }
}

void drive_worker_settle(struct drive_worker *worker, int (*wanted)(struct drive *))
{
    lock_acquire(&worker->lock);
    set_priority(worker, 0, wanted(worker->drive));
    lock_release(&worker->lock);
}

void drive_worker_lift(struct drive *drive, int index, int priority)
{
    struct drive_worker *worker = &drive->worker[index];
    int thread_id = (int)rtrcu_load_acquire(&worker->thread_id);
    if (thread_id == 0)
        return; /* its first look is ahead */
    lock_acquire(&worker->lock);
    if (rtrcu_load_relaxed(&worker->priority) < priority)
        set_priority(worker, thread_id, priority);
    lock_release(&worker->lock);
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Workers: made when first needed, asleep on a futex otherwise.
 *
 * tested by: test/api/expedited.cc
 */
#include <errno.h>

#include "drive/drive.h"

void drive_worker_init(struct drive *drive, int index, const struct drive_job *job)
{
    drive->worker[index] = (struct drive_worker){.drive = drive, .job = job};
    drive_worker_begins(&drive->worker[index], 0);
}

bool drive_worker_after_fork_child(struct drive_worker *worker, struct plat_tid old_thread_id)
{
    struct drive_worker fresh = {.drive = worker->drive, .job = worker->job, .thread = worker->thread};
    bool survives = drive_thread_after_fork(&fresh.thread, old_thread_id);
    drive_worker_begins(&fresh, survives ? drive_worker_priority(worker) : 0);
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

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Workers: made when first needed, asleep on a futex otherwise.
 *
 * tested by: test/api/expedited.cc
 */
#include <stdio.h>

#include "drive/drive.h"

static void *(*const bodies[DRIVE_WORKERS])(void *) = {drive_expedited_body, drive_boost_body, drive_report_body};
static const char *const names[DRIVE_WORKERS] = {"rtrcu-exp", "rtrcu-boost", "rtrcu-report"};

int drive_worker_start(struct drive *drive, int index)
{
    struct drive_worker *worker = &drive->worker[index];
    int claimed = drive_thread_claim(drive, &worker->thread);
    if (claimed <= 0)
        return claimed;
    worker->drive = drive;
    worker->thread.plat = (struct plat_thread){.body = bodies[index], .argument = worker};
    snprintf(worker->thread.plat.name, sizeof(worker->thread.plat.name), "%s", names[index]);
    return drive_thread_make(drive, &worker->thread);
}

/* The count makes a wake-up that comes before the sleep end it. */
void drive_worker_wake(struct drive *drive, int index)
{
    rtrcu_fetch_add(&drive->worker[index].event, 1);
    plat_futex_wake(&drive->worker[index].event, 1);
}

void drive_worker_sleep(struct drive_worker *worker, uint32_t event)
{
    plat_futex_wait(&worker->event, event, PLAT_FOREVER);
}

void drive_worker_set_priority(struct drive_worker *worker, int priority)
{
    if (rtrcu_load_relaxed(&worker->priority) == priority)
        return;
    int error = plat_sched_set(priority, 0);
    if (!error) {
        rtrcu_store_relaxed(&worker->priority, priority);
    } else if (rtrcu_fetch_add(&worker->drive->rt_refused, 1) == 0) {
        plat_print(
            "rtrcu: real-time scheduling is refused (error %d): expedited grace periods and priority lending work at"
            " SCHED_OTHER; raise RLIMIT_RTPRIO or grant CAP_SYS_NICE, or set RTRCU_KTHREAD_PRIO=0\n",
            -error);
    }
}

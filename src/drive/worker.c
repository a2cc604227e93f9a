/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Workers: made when first needed, asleep on a futex otherwise.
 *
 * tested by: test/api/expedited.cc
 */
#include "drive/drive.h"

static void *(*const bodies[DRIVE_WORKERS])(void *) = {drive_expedited_body, drive_boost_body, drive_report_body};
static const char *const names[DRIVE_WORKERS] = {"rtrcu-exp", "rtrcu-boost", "rtrcu-report"};

int drive_worker_start(struct drive *drive, int index)
{
    struct drive_worker *worker = &drive->worker[index];
    struct plat_thread thread;
    uint32_t none = DRIVE_NONE;
    if (rtrcu_load_acquire(&worker->state) != DRIVE_NONE)
        return 0;
    if (!rtrcu_compare_exchange(&worker->state, &none, DRIVE_STARTING))
        return 0;
    worker->drive = drive;
    int error = plat_thread_create(&thread, names[index], bodies[index], worker);
    if (!error)
        plat_thread_detach(&thread);
    uint32_t starting = DRIVE_STARTING; /* unless it has ended already */
    (void)rtrcu_compare_exchange(&worker->state, &starting, error ? DRIVE_NONE : DRIVE_RUNNING);
    return error;
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

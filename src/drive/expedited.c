/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Expedited grace periods: a machine of their own, whose crank a worker turns (2022).
 *
 * Callers ask for a number and sleep on one of four words by that number, so that the wake-ups of one grace period do
 * not stir those who wait for the next.  exp_worker says at what priority the worker runs: kthread, SCHED_FIFO at
 * kthread_prio or at the highest priority of a caller; workqueue, SCHED_OTHER, as work queues do.
 * tested by: test/api/expedited.cc
 */
#include "drive/drive.h"

static uint32_t word_of(uint64_t seq)
{
    return (uint32_t)(seq / SEQ_STEP % 4);
}

/* [O13] Worker half; the waiter's is drive_synchronize_expedited().
 *  - the sequence first:     the waiter sees it and does not sleep;
 *  - the waiter's read of the count first: the count has changed when it goes to sleep, so it does not.
 * Forbidden: it sleeps AND the count does not change any more.   litmus: O13 */
void drive_expedited_done(struct drive *drive)
{
    uint32_t index = word_of(drive->gp->machine[GP_EXPEDITED].seq);
    rtrcu_fetch_add(&drive->exp_done[index], 1);
    if (rtrcu_load_relaxed(&drive->exp_waiters[index]))
        plat_futex_wake(&drive->exp_done[index], INT32_MAX);
}

static int wanted_priority(struct drive *drive)
{
    const struct rtrcu_config *config = callback_config(drive->cb);
    return config->exp_worker == RTRCU_EXP_WORKER_KTHREAD ? config->kthread_prio : 0;
}

/* A caller above the worker lifts it to its own level; the worker falls back when nothing is left to do. */
static void lift_worker(struct drive *drive)
{
    struct drive_worker *worker = &drive->worker[DRIVE_WORKER_EXPEDITED];
    uint32_t thread_id = rtrcu_load_acquire(&worker->thread_id);
    int own = plat_sched_rt_priority();
    if (own <= rtrcu_load_relaxed(&worker->priority) || wanted_priority(drive) == 0 || !thread_id)
        return;
    if (plat_sched_lift((int)thread_id, own) == 0)
        rtrcu_store_relaxed(&worker->priority, own);
}

void drive_start_expedited(struct drive *drive, uint64_t cookie)
{
    bool fresh = gp_request(drive->gp, GP_EXPEDITED, cookie);
    if (drive_worker_start(drive, DRIVE_WORKER_EXPEDITED) == 0 && fresh)
        drive_worker_wake(drive, DRIVE_WORKER_EXPEDITED);
}

/* [O13] Waiter half. */
void drive_synchronize_expedited(struct drive *drive, uint64_t cookie)
{
    uint32_t index = word_of(cookie);
    if (drive_worker_start(drive, DRIVE_WORKER_EXPEDITED) != 0) {
        drive_synchronize(drive, GP_EXPEDITED, cookie); /* no thread to be had: turn it here */
        return;
    }
    lift_worker(drive);
    drive_start_expedited(drive, cookie);
    rtrcu_fetch_add(&drive->exp_waiters[index], 1);
    while (!gp_reached(drive->gp, GP_EXPEDITED, cookie)) { /* at most the one under way and the next */
        uint32_t done = rtrcu_load_acquire(&drive->exp_done[index]);
        if (!gp_reached(drive->gp, GP_EXPEDITED, cookie))
            plat_futex_wait(&drive->exp_done[index], done, PLAT_FOREVER);
    }
    rtrcu_fetch_add(&drive->exp_waiters[index], (uint32_t)-1);
}

void *drive_expedited_body(void *argument)
{
    static const struct drive_manner manner = {0};
    struct drive_worker *worker = argument;
    struct drive *drive = worker->drive;
    rtrcu_store_release(&worker->thread_id, lock_thread_id());
    for (;;) { /* for the life of the process */
        uint32_t event = rtrcu_load_acquire(&worker->event);
        int wanted = wanted_priority(drive);
        if (wanted == 0 || wanted > rtrcu_load_relaxed(&worker->priority))
            drive_worker_set_priority(worker, wanted);
        if (gp_is_needed(drive->gp, GP_EXPEDITED)) {
            drive_turn_if_needed(drive, GP_EXPEDITED, &manner);
            continue;
        }
        drive_worker_set_priority(worker, wanted);
        drive_worker_sleep(worker, event);
    }
    return NULL;
}

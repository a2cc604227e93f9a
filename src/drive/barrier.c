/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Waiting for callbacks: rcu_barrier(), and producers above qmax that chose to block.
 *
 * tested by: test/api/callbacks.cc
 */
#include "drive/drive.h"

/* [O11] Invoker half: the batch's counters are stored, then the count of waiters is read.   litmus: O11 */
void drive_progress(struct drive *drive)
{
    rtrcu_fence_full();
    if (!rtrcu_load_relaxed(&drive->progress_waiters))
        return;
    rtrcu_fetch_add(&drive->progress, 1);
    plat_futex_wake(&drive->progress, INT32_MAX);
}

/* No thread could be made, or the driver has none: do a pass here. */
static void help(struct drive *drive)
{
    static const struct drive_manner manner = {.by_caller = true};
    callback_collect(drive->cb);
    drive_turn_if_needed(drive, GP_NORMAL, &manner);
    drive_dispatch(drive);
}

/* [O11] Waiter half; drive_progress() is the other.  One wait, at most a tick: a deadline owner wakes nobody.
 *  - our count first:      the invoker sees it and wakes us;
 *  - its counters first:   we see the goal reached and do not sleep.
 * Forbidden: we sleep AND the invoker wakes nobody.   litmus: O11 */
static void wait_once(struct drive *drive, bool (*reached)(struct drive *, void *), void *argument)
{
    if (drive_start(drive) != 0 || !drive_row(drive)->body)
        help(drive);
    drive_note(drive, true);
    drive_rouse(drive); /* who waits may make a system call, a deadline thread too */
    rtrcu_fetch_add(&drive->progress_waiters, 1);
    uint32_t progress = rtrcu_load_acquire(&drive->progress);
    if (!reached(drive, argument))
        plat_futex_wait(&drive->progress, progress, drive_tick_ns(drive));
    rtrcu_fetch_add(&drive->progress_waiters, (uint32_t)-1);
}

static bool barrier_reached(struct drive *drive, void *unused)
{
    (void)unused;
    return callback_barrier_reached(drive->cb);
}

void drive_barrier(struct drive *drive)
{
    lock_acquire(&drive->barrier_lock);
    rtrcu_fetch_add(&drive->cb->barriers, 1);
    callback_barrier_set(drive->cb);
    while (!barrier_reached(drive, NULL)) /* ends when the callbacks queued before have returned */
        wait_once(drive, barrier_reached, NULL);
    rtrcu_fetch_add(&drive->cb->barriers, (uint32_t)-1);
    lock_release(&drive->barrier_lock);
}

static bool is_below_qmax(struct drive *drive, void *record)
{
    return callback_pending(record) < (uint64_t)callback_config(drive->cb)->qmax;
}

void drive_wait_below_qmax(struct drive *drive, struct reader_record *record)
{
    while (!is_below_qmax(drive, record)) /* ends when daemons have caught up */
        wait_once(drive, is_below_qmax, record);
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Batches that have been invoked, and who waits for them.
 *
 * tested by: test/api/callbacks.cc
 */
#include "drive/drive.h"

/* [O11] Invoker half: the batch's counters are stored, then the count of waiters is read.   litmus: O11 */
void drive_progress(struct drive *drive)
{
    rtrcu_fence_full();
    if (!tally_read(&drive->progress_waiters))
        return;
    rtrcu_fetch_add(&drive->progress, 1);
    plat_futex_wake(&drive->progress, INT32_MAX);
}

/* [O11] Waiter half; drive_progress() is the other.  At most a tick: a deadline owner wakes nobody.
 *  - our count first:      the invoker sees it and wakes us;
 *  - its counters first:   we see the goal reached and do not sleep.
 * Forbidden: we sleep AND the invoker wakes nobody.   litmus: O11 */
void drive_progress_wait(struct drive *drive, bool (*reached)(struct drive *, void *), void *argument,
                         int64_t longest_ns)
{
    int64_t tick_ns = drive_tick_ns(drive);
    drive_wake_later(drive, true);
    drive_wake_always(drive); /* a thread that waits may make a system call, a deadline thread too */

    tally_raise(&drive->progress_waiters);
    uint32_t progress = rtrcu_load_acquire(&drive->progress);
    if (!reached(drive, argument))
        drive_sleep(drive, &drive->progress, progress, longest_ns < tick_ns ? longest_ns : tick_ns);
    (void)tally_lower(&drive->progress_waiters);
}

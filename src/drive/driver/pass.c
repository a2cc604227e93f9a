/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A driver's pass over everything that waits, and its sleep between passes.
 *
 * tested by: test/api/drivers.cc
 */
#include "drive/drive.h"

/* How long the driver ticks on when the last deadline thread has gone offline. */
#define ONLINE_TICKS 100

bool drive_anything_new(struct drive *drive)
{
    if (rtrcu_load_acquire(&drive->urgent) || gp_is_needed(drive->gp, GP_NORMAL) || drive_expedited_is_left(drive))
        return true;
    return callback_anything_new(drive->cb);
}

bool drive_pass(struct drive *drive, const struct drive_turn_options *options)
{
    counter_add(&drive->passes, 1);
    rtrcu_exchange(&drive->urgent, 0);
    callback_collect(drive->cb);
    drive_turn_if_needed(drive_turning_of(drive, GP_NORMAL), options);
    drive_expedited_serve(drive);
    return drive_dispatch(drive);
}

/* For some ticks more, so that a loop that is offline while it waits for its next event need not wake us when it comes
 * back. */
static bool ticks_for_deadlines(struct drive *drive)
{
    int64_t rest_ns = ONLINE_TICKS * drive_tick_ns(drive);
    if (reader_deadline_is_online(drive->registry))
        drive->online_ns = plat_clock_now();
    else if (drive->online_ns && plat_clock_now() - drive->online_ns >= rest_ns)
        drive->online_ns = 0;
    return drive->online_ns != 0;
}

/* [O8] Driver half: the flag is stored, then we look for what is new. */
void drive_sleep_idle(struct drive *drive, uint32_t event, bool ready)
{
    int64_t timeout_ns = PLAT_FOREVER;
    drive_thread_lies_down(&drive->thread, DRIVE_IDLE);

    if (ready || ticks_for_deadlines(drive)) {
        timeout_ns = drive_tick_ns(drive);
        drive_thread_ticks(&drive->thread);
    }

    if (!drive_anything_new(drive))
        drive_thread_sleep(drive, &drive->thread, event, timeout_ns);
    drive_thread_gets_up(&drive->thread);
}

void drive_sleep_pacing(struct drive *drive, uint32_t event, int64_t timeout_ns)
{
    drive_thread_lies_down(&drive->thread, DRIVE_PACING);
    if (!rtrcu_load_acquire(&drive->urgent))
        drive_thread_sleep(drive, &drive->thread, event, timeout_ns);
    drive_thread_gets_up(&drive->thread);
}

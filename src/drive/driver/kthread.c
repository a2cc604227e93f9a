/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Driver kthread: a thread of its own, asleep on a futex while there is nothing to do.
 *
 * Grace periods that only callbacks wait for begin at most once a tick, so that they share one; a flood, a barrier or a
 * polled cookie is in a hurry and does not wait for it.
 * tested by: test/api/drivers.cc
 */
#include "drive/drive.h"

static void *body(void *argument)
{
    static const struct drive_turn_options options = {.serves = true};
    struct drive *drive = argument;
    int64_t turned_ns = plat_clock_now() - drive_tick_ns(drive);

    for (;;) { /* for the life of the process */
        counter_add(&drive->passes, 1);
        uint32_t event = drive_thread_event(&drive->thread);
        bool urgent = rtrcu_load_relaxed(&drive->urgent) && rtrcu_exchange(&drive->urgent, 0);
        int64_t now = plat_clock_now(), due = turned_ns + drive_tick_ns(drive);

        callback_collect(drive->cb);
        drive_expedited_serve(drive);

        if (gp_is_needed(drive->gp, GP_NORMAL)) {
            if (!urgent && now < due) {
                drive_sleep_pacing(drive, event, due - now);
                continue;
            }
            turned_ns = now;
            drive_turn_if_needed(drive_turning_of(drive, GP_NORMAL), &options);
        }

        bool ready = drive_dispatch(drive);
        if (gp_is_needed(drive->gp, GP_NORMAL))
            continue;
        drive_sleep_idle(drive, event, ready);
    }
    return NULL;
}

const struct drive_driver drive_driver_kthread = {.name = "kthread", .body = body};

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Driver kthread: a thread of its own, asleep on a futex while there is nothing to do.
 *
 * Grace periods that only callbacks wait for begin at most once a tick, so that they share one; a flood, a barrier or a
 * polled cookie is in a hurry and does not wait for it.
 * tested by: test/api/drivers.cc
 */
#include "drive/driver/driver.h"

static void body(struct driver *driver)
{
    static const struct turn_options options = {.serve = drive_serve_meanwhile};
    int64_t turned_ns = plat_clock_now() - drive_tick_ns(driver->work);

    for (;;) { /* for the life of the process */
        counter_add(&driver->passes, 1);
        uint32_t event = drive_thread_event(driver->thread);
        bool urgent = drive_may_be_urgent(driver->work) && drive_take_urgent(driver->work);
        int64_t now = plat_clock_now(), due = turned_ns + drive_tick_ns(driver->work);

        callback_collect(driver->cb);
        drive_expedited_serve(driver->turn, drive_serve_meanwhile);

        if (drive_is_needed(drive_normal(driver))) {
            if (!urgent && now < due) {
                drive_sleep_pacing(driver, event, due - now);
                continue;
            }
            turned_ns = now;
            drive_turn_if_needed(drive_normal(driver), &options);
        }

        bool ready = drive_dispatch(driver->serve);
        if (drive_is_needed(drive_normal(driver)))
            continue;
        drive_sleep_idle(driver, event, ready);
    }
}

const struct drive_driver drive_driver_kthread = {.name = "kthread", .body = body};

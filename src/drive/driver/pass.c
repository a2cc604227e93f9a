/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A driver's pass over everything that waits, and its sleep between passes.
 *
 * tested by: test/api/drivers.cc
 */
#include "drive/driver/driver.h"

/* How long the driver ticks on when the last deadline thread has gone offline. */
#define ONLINE_TICKS 100

bool drive_anything_new(struct driver *driver)
{
    if (drive_is_urgent(driver->work) || drive_is_needed(drive_normal(driver)) || drive_expedited_is_left(driver->turn))
        return true;
    return callback_anything_new(driver->cb);
}

bool drive_serve_meanwhile(struct serve *serve)
{
    (void)drive_dispatch(serve);
    return false;
}

bool drive_pass(struct driver *driver, const struct turn_options *options)
{
    counter_add(&driver->passes, 1);
    (void)drive_take_urgent(driver->work);
    callback_collect(driver->cb);
    drive_turn_if_needed(drive_normal(driver), options);
    drive_expedited_serve(driver->turn, drive_serve_meanwhile);
    return drive_dispatch(driver->serve);
}

/* For some ticks more, so that a loop that is offline while it waits for its next event need not wake us when it comes
 * back. */
static bool ticks_for_deadlines(struct driver *driver)
{
    int64_t rest_ns = ONLINE_TICKS * drive_tick_ns(driver->work);
    if (reader_deadline_is_online(driver->registry))
        driver->online_ns = plat_clock_now();
    else if (driver->online_ns && plat_clock_now() - driver->online_ns >= rest_ns)
        driver->online_ns = 0;
    return driver->online_ns != 0;
}

/* [O8] Driver half: the flag is stored, then we look for what is new. */
void drive_sleep_idle(struct driver *driver, uint32_t event, bool ready)
{
    int64_t timeout_ns = PLAT_FOREVER;
    drive_thread_lies_down(driver->thread, DRIVE_IDLE);

    if (ready || ticks_for_deadlines(driver)) {
        timeout_ns = drive_tick_ns(driver->work);
        drive_thread_ticks(driver->thread);
    }

    if (!drive_anything_new(driver))
        drive_thread_sleep(driver->work, driver->thread, event, timeout_ns);
    drive_thread_gets_up(driver->thread);
}

void drive_sleep_pacing(struct driver *driver, uint32_t event, int64_t timeout_ns)
{
    drive_thread_lies_down(driver->thread, DRIVE_PACING);
    if (!drive_is_urgent(driver->work))
        drive_thread_sleep(driver->work, driver->thread, event, timeout_ns);
    drive_thread_gets_up(driver->thread);
}

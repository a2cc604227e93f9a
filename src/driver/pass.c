/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A driver's pass over all pending work, and its sleep between passes.
 *
 * tested by: test/api/drivers.cc
 */
#include "driver/driver.h"

/* Ticks that the driver continues after the last deadline thread has gone offline. */
#define ONLINE_TICKS 100

bool driver_anything_new(struct driver *driver)
{
    if (work_is_urgent(driver->work) || turn_is_needed(driver_normal(driver)) || turn_expedited_is_left(driver->turn))
        return true;
    return callback_anything_new(driver->cb);
}

bool driver_serve_meanwhile(struct serve *serve)
{
    serve_collect(serve);
    (void)serve_dispatch(serve);
    return false;
}

bool driver_pass(struct driver *driver, const struct turn_options *options)
{
    counter_add(&driver->passes, 1);
    (void)work_take_urgent(driver->work);
    callback_collect(driver->cb);
    turn_if_needed(driver_normal(driver), options);
    turn_expedited_serve(driver->turn, driver_serve_meanwhile);
    return serve_dispatch(driver->serve);
}

/* Must the driver tick, since a deadline thread is online or was so recently?  It ticks on for a while, so that an
 * event loop that goes offline only to wait for its next event need not wake the driver afterwards. */
static bool ticks_for_deadlines(struct driver *driver)
{
    int64_t rest_ns = ONLINE_TICKS * work_tick_ns(driver->work);
    if (reader_deadline_is_online(driver->registry))
        driver->online_ns = plat_clock_now();
    else if (driver->online_ns && plat_clock_now() - driver->online_ns >= rest_ns)
        driver->online_ns = 0;
    return driver->online_ns != 0;
}

/* [O8] Driver half; the waker's half is work_driver_wake().  The driver stores its flag, then checks for work. */
void driver_sleep_until_new(struct driver *driver, uint32_t event, bool ready)
{
    int64_t timeout_ns = PLAT_FOREVER;
    work_thread_prepare_sleep(driver->thread, WORK_ASLEEP);

    if (ready || ticks_for_deadlines(driver)) {
        timeout_ns = work_tick_ns(driver->work);
        work_thread_set_ticking(driver->thread);
    }

    if (!driver_anything_new(driver))
        work_thread_sleep(driver->work, driver->thread, event, timeout_ns);
    work_thread_finish_sleep(driver->thread);
    work_rt_driver_runs(driver->work);
}

void driver_sleep_pacing(struct driver *driver, uint32_t event, int64_t timeout_ns)
{
    work_thread_prepare_sleep(driver->thread, WORK_PACING);
    if (!work_is_urgent(driver->work))
        work_thread_sleep(driver->work, driver->thread, event, timeout_ns);
    work_thread_finish_sleep(driver->thread);
    work_rt_driver_runs(driver->work);
}

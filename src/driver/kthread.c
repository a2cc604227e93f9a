/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Driver kthread: a thread of its own, asleep on a futex while there is nothing to do.
 *
 * Grace periods wanted only by callbacks begin at most once per tick, so that many callbacks share one grace period;
 * and at most once in four ticks while real-time threads queue callbacks, since the driver then preempts ordinary
 * threads for each grace period.  A flood, a barrier or a polled cookie is urgent and does not wait for the tick.
 * tested by: test/api/drivers.cc
 */
#include "driver/driver.h"

/* Ticks from one grace period to the next while the driver follows real-time producers. */
#define REAL_TIME_TICKS 4

static int64_t pace_ns(const struct work *work)
{
    return work_tick_ns(work) * (work_rt_follows(work) ? REAL_TIME_TICKS : 1);
}

static void body(struct driver *driver)
{
    static const struct turn_options options = {.serve = driver_serve_meanwhile};
    int64_t advanced_ns = plat_clock_now() - work_tick_ns(driver->work);

    while (work_goes_on(driver->work)) {
        counter_add(&driver->passes, 1);
        uint32_t event = work_thread_event(driver->thread);
        bool urgent = work_may_be_urgent(driver->work) && work_take_urgent(driver->work);
        int64_t now = plat_clock_now(), due = advanced_ns + pace_ns(driver->work);

        callback_collect(driver->cb);
        turn_expedited_serve(driver->turn, driver_serve_meanwhile);

        if (turn_is_needed(driver_normal(driver))) {
            if (!urgent && now < due) {
                driver_sleep_pacing(driver, event, due - now);
                continue;
            }
            advanced_ns = now;
            turn_if_needed(driver_normal(driver), &options);
        }

        bool ready = serve_dispatch(driver->serve);
        if (turn_is_needed(driver_normal(driver)))
            continue;
        driver_sleep_until_new(driver, event, ready);
    }
}

const struct work_driver driver_kthread = {.name = "kthread", .body = body};

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Driver poll: the shortest grace periods, at the cost of a CPU (2002).
 *
 * While a grace period is requested the driver requests reports immediately and polls without a pause.  It sleeps when
 * no work is left, and between polls while no holdout can run beside it.
 * tested by: test/api/drivers.cc
 */
#include "driver/driver.h"

static void body(struct driver *driver)
{
    static const struct turn_options options = {.never_sleeps = true, .serve = driver_serve_meanwhile};

    while (work_goes_on(driver->work)) {
        uint32_t event = work_thread_event(driver->thread);
        bool ready = driver_pass(driver, &options);
        if (!driver_anything_new(driver))
            driver_sleep_until_new(driver, event, ready);
    }
}

const struct work_driver driver_poll = {.name = "poll", .body = body};

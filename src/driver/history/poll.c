/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Driver poll: for the shortest grace periods, on a CPU that can be spared (2002).
 *
 * While anything waits for a grace period it asks readers at once and polls without a rest.  It sleeps when nothing is
 * left to do, and between looks where no reader in the way can run beside it. tested by: test/api/drivers.cc
 */
#include "driver/driver.h"

static void body(struct driver *driver)
{
    static const struct turn_options options = {.never_sleeps = true, .serve = driver_serve_meanwhile};

    for (;;) { /* for the life of the process */
        uint32_t event = work_thread_event(driver->thread);
        bool ready = driver_pass(driver, &options);
        if (!driver_anything_new(driver))
            driver_sleep_until_new(driver, event, ready);
    }
}

const struct work_driver driver_poll = {.name = "poll", .body = body};

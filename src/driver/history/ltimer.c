/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Driver ltimer: polls once per tick, and does not tick while there is no work (2002).
 *
 * The least work for the most callbacks: no spinning, and one grace period per tick for any number of requests.  A
 * caller of synchronize_rcu() still advances the grace period itself.
 * tested by: test/api/drivers.cc
 */
#include "driver/driver.h"

/* Sleep to the end of the tick; no wake-up shortens it. */
static void wait_for_tick(struct driver *driver, int64_t *next_ns)
{
    int64_t now = plat_clock_now();
    if (*next_ns > now)
        plat_clock_sleep(*next_ns - now);
    else
        *next_ns = now;
    *next_ns += work_tick_ns(driver->work);
}

static void body(struct driver *driver)
{
    static const struct turn_options options = {.never_spins = true, .serve = driver_serve_meanwhile};
    int64_t next_ns = 0;

    while (work_goes_on(driver->work)) {
        uint32_t event = work_thread_event(driver->thread);
        bool ready = driver_pass(driver, &options);
        if (ready || driver_anything_new(driver))
            wait_for_tick(driver, &next_ns);
        else
            driver_sleep_until_new(driver, event, ready);
    }
}

const struct work_driver driver_ltimer = {.name = "ltimer", .body = body};

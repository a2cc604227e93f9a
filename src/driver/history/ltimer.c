/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Driver ltimer: looks once a tick, batches everything, and does not tick while there is nothing to do (2002).
 *
 * The least work for the most callbacks: no spinning, and however many ask, one grace period a tick.  A caller of
 * synchronize_rcu() still turns the crank itself.
 * tested by: test/api/drivers.cc
 */
#include "driver/driver.h"

/* Sleep out the tick; nobody hurries us. */
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

    for (;;) { /* for the life of the process */
        uint32_t event = work_thread_event(driver->thread);
        bool ready = driver_pass(driver, &options);
        if (ready || driver_anything_new(driver))
            wait_for_tick(driver, &next_ns);
        else
            driver_sleep_until_new(driver, event, ready);
    }
}

const struct work_driver driver_ltimer = {.name = "ltimer", .body = body};

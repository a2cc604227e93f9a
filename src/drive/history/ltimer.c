/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Driver ltimer: looks once a tick, batches everything, and does not tick while there is nothing to do (2002).
 *
 * The least work for the most callbacks: no spinning, and however many ask, one grace period a tick.  A caller of
 * synchronize_rcu() still turns the crank itself.
 * tested by: test/api/drivers.cc
 */
#include "drive/drive.h"

/* Sleep out the tick; nobody hurries us. */
static void wait_for_tick(struct drive *drive, int64_t *next_ns)
{
    int64_t now = plat_clock_now();
    if (*next_ns > now)
        plat_clock_sleep(*next_ns - now);
    else
        *next_ns = now;
    *next_ns += drive_tick_ns(drive);
}

static void *body(void *argument)
{
    static const struct drive_turn_options options = {.never_spins = true, .serves = true};
    struct drive *drive = argument;
    int64_t next_ns = 0;

    for (;;) { /* for the life of the process */
        uint32_t event = drive_thread_event(&drive->thread);
        bool ready = drive_pass(drive, &options);
        if (ready || drive_anything_new(drive))
            wait_for_tick(drive, &next_ns);
        else
            drive_sleep_idle(drive, event, ready);
    }
    return NULL;
}

const struct drive_driver drive_driver_ltimer = {.name = "ltimer", .body = body};

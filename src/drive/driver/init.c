/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table of drivers; the room's beginning, and what it counts.
 *
 * tested by: test/api/drivers.cc
 */
#include "drive/driver/driver.h"

const struct drive_driver *drive_driver_of(int32_t driver)
{
    switch (driver) {
    case RTRCU_DRIVER_KTHREAD:
        return &drive_driver_kthread;
    case RTRCU_DRIVER_LTIMER:
        return &drive_driver_ltimer;
    case RTRCU_DRIVER_SCHED:
        return &drive_driver_sched;
    case RTRCU_DRIVER_POLL:
        return &drive_driver_poll;
    default:
        return NULL;
    }
}

void drive_driver_init(struct driver *driver, struct callback *cb, struct work *work, struct turn *turn,
                       struct serve *serve)
{
    driver->registry = callback_registry(cb);
    driver->cb = cb;
    driver->work = work;
    driver->thread = drive_driver_thread(work);
    driver->turn = turn;
    driver->serve = serve;
}

void drive_driver_stats(const struct driver *driver, struct rtrcu_stats *stats)
{
    stats->driver_passes = counter_read(&driver->passes);
}

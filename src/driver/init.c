/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table of drivers; initialisation of the room, and its counters.
 *
 * tested by: test/api/drivers.cc
 */
#include "driver/driver.h"

const struct work_driver *driver_of(int32_t driver)
{
    switch (driver) {
    case RTRCU_DRIVER_KTHREAD:
        return &driver_kthread;
    case RTRCU_DRIVER_LTIMER:
        return &driver_ltimer;
    case RTRCU_DRIVER_SCHED:
        return &driver_sched;
    case RTRCU_DRIVER_POLL:
        return &driver_poll;
    default:
        return NULL;
    }
}

void driver_init(struct driver *driver, struct callback *cb, struct work *work, struct turn *turn, struct serve *serve)
{
    driver->registry = callback_registry(cb);
    driver->cb = cb;
    driver->work = work;
    driver->thread = work_driver_thread(work);
    driver->turn = turn;
    driver->serve = serve;
}

void driver_stats(const struct driver *driver, struct rtrcu_stats *stats)
{
    stats->driver_passes = counter_read(&driver->passes);
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Drivers, which advance grace periods and serve callbacks while no thread waits for them.
 *
 * Knows: advancing, serving, threads of the library.  Must not know: the public entry points.
 *
 *  kthread.c     the default driver
 *  pass.c        the pass that every driver makes, and its sleep
 *  step.c        one step in a call of the program
 *  history/      drivers that rebuild those of a document, for comparison
 */
#ifndef RTRCU_DRIVER_DRIVER_H
#define RTRCU_DRIVER_DRIVER_H

#include "serve/serve.h"

struct driver {
    struct reader_registry *registry;
    struct callback *cb;
    struct work *work;
    struct work_thread *thread; /* constant: the driver's own thread, if it has one */
    struct turn *turn;
    struct serve *serve;
    int64_t online_ns; /* when a deadline thread was last seen online, 0 = long ago; used by the driver's thread */
    struct counter passes;
};

/* Fields that this room shows to other processes, for a struct driver at @at of @type. */
#define DRIVER_INSPECT(type, at) INSPECT_FIELD("drive.passes", type, at.passes)

/* ---- drivers: one file each, and the table in init.c ---- */

extern const struct work_driver driver_kthread, driver_ltimer, driver_sched, driver_poll;
/* The driver of number @driver; NULL: there is none. */
const struct work_driver *driver_of(int32_t driver);

void driver_init(struct driver *driver, struct callback *cb, struct work *work, struct turn *turn, struct serve *serve);
void driver_stats(const struct driver *driver, struct rtrcu_stats *stats);

static inline struct gp_state *driver_normal(const struct driver *driver)
{
    return turn_gp_state(driver->turn, GP_NORMAL);
}

/* ---- common to all drivers: pass.c ---- */

/* Called once per tick while a driver advances a grace period: dispatches callbacks whose owner or daemon has exited
 * meanwhile, or that one batch did not cover.  Returns false: the driver continues to wait. */
bool driver_serve_meanwhile(struct serve *serve);
/* One pass: collect what was queued, advance a needed grace period, dispatch ready callbacks.  True if some wait for
 * their owner. */
bool driver_pass(struct driver *driver, const struct turn_options *options);
/* Has work arrived since the driver's last pass? */
bool driver_anything_new(struct driver *driver);
/* Sleep until there is work; at most a tick if callbacks wait for their owner (@ready), or if a deadline thread, which
 * wakes no thread, may queue work.  @event: the driver's futex, read before the pass. */
void driver_sleep_until_new(struct driver *driver, uint32_t event, bool ready);
/* Sleep for at most @timeout_ns; only urgent work wakes the driver. */
void driver_sleep_pacing(struct driver *driver, uint32_t event, int64_t timeout_ns);

/* ---- without a thread of the driver: step.c ---- */

/* One step in a call of the program: the calling thread is outside sections and may take short locks.  Does nothing if
 * the driver in force uses a thread; with @asked, does nothing only while that thread runs. */
void driver_step_here(struct driver *driver, struct serve_call_budget *call_budget, bool asked);

/* Is work left that the driver must do? */
bool driver_work_is_left(struct driver *driver);

#endif

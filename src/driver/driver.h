/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Drivers: what turns grace periods and serves callbacks when nobody waits for them.
 *
 * Knows: turning, serving, threads of the library.  Must not know: the public entry points.
 *
 *  kthread.c     the driver that is meant to be used
 *  pass.c        what every driver does, and its sleep
 *  step.c        one step in a call of the program's
 *  history/      drivers that reproduce what a document tells, for comparison
 */
#ifndef RTRCU_DRIVER_DRIVER_H
#define RTRCU_DRIVER_DRIVER_H

#include "serve/serve.h"

struct driver {
    struct reader_registry *registry;
    struct callback *cb;
    struct work *work;
    struct work_thread *thread; /* constant: its own, if it has one */
    struct turn *turn;
    struct serve *serve;
    int64_t online_ns; /* of its thread: when a deadline thread was online last, 0 = long ago */
    struct counter passes;
};

/* What this room tells other processes, where it lies in @type as @at. */
#define DRIVER_INSPECT(type, at) INSPECT_FIELD("drive.passes", type, at.passes)

/* ---- drivers: a file each, and the table in init.c ---- */

extern const struct work_driver driver_kthread, driver_ltimer, driver_sched, driver_poll;
/* NULL if there is none of that number. */
const struct work_driver *driver_of(int32_t driver);

void driver_init(struct driver *driver, struct callback *cb, struct work *work, struct turn *turn, struct serve *serve);
void driver_stats(const struct driver *driver, struct rtrcu_stats *stats);

static inline struct gp_state *driver_normal(const struct driver *driver)
{
    return turn_gp_state(driver->turn, GP_NORMAL);
}

/* ---- what every driver does: pass.c ---- */

/* Once a tick while a driver turns: ready callbacks may lose their owner, or their daemon, or be more than one turn
 * runs.  False: it goes on. */
bool driver_serve_meanwhile(struct serve *serve);
/* One look at everything: what was queued, a grace period that is needed, ready callbacks.  True if some wait for their
 * owner. */
bool driver_pass(struct driver *driver, const struct turn_options *options);
/* Is there anything that the driver has not looked at? */
bool driver_anything_new(struct driver *driver);
/* Sleep until there is something new; no longer than a tick where @ready callbacks wait for their owner, or a deadline
 * thread, which wakes nobody, may queue something.  @event: the driver's futex before the driver last looked. */
void driver_sleep_until_new(struct driver *driver, uint32_t event, bool ready);
/* The same, but only what is urgent wakes the driver. */
void driver_sleep_pacing(struct driver *driver, uint32_t event, int64_t timeout_ns);

/* ---- where the driver has no thread: step.c ---- */

/* One step in a call of the program's: the calling thread is outside sections and may take short locks.  Does nothing
 * where a thread of ours turns the crank, unless @asked. */
void driver_step_here(struct driver *driver, struct serve_call_budget *call_budget, bool asked);

/* Is anything left to do that nobody else may come for? */
bool driver_work_is_left(struct driver *driver);

#endif

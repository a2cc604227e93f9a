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
#ifndef RTRCU_DRIVE_DRIVER_H
#define RTRCU_DRIVE_DRIVER_H

#include "drive/serve/serve.h"

struct driver {
    struct reader_registry *registry;
    struct callback *cb;
    struct work *work;
    struct drive_thread *thread; /* constant: its own, if it has one */
    struct turn *turn;
    struct serve *serve;
    int64_t online_ns; /* of its thread: when a deadline thread was online last, 0 = long ago */
    struct counter passes;
};

/* What this room tells other processes, where it lies in @type as @at. */
#define DRIVER_INSIDE(type, at) INSIDE_FIELD("drive.passes", type, at.passes)

/* ---- drivers: a file each, and the table in init.c ---- */

extern const struct drive_driver drive_driver_kthread, drive_driver_ltimer, drive_driver_sched, drive_driver_poll;
/* NULL if there is none of that number. */
const struct drive_driver *drive_driver_of(int32_t driver);

void drive_driver_init(struct driver *driver, struct callback *cb, struct work *work, struct turn *turn,
                       struct serve *serve);
void drive_driver_stats(const struct driver *driver, struct rtrcu_stats *stats);

static inline struct turning *drive_normal(const struct driver *driver)
{
    return drive_turning_of(driver->turn, GP_NORMAL);
}

/* ---- what every driver does: pass.c ---- */

/* Once a tick while a driver turns: ready callbacks may lose their owner, or their daemon, or be more than one turn
 * runs.  False: it goes on. */
bool drive_serve_meanwhile(struct serve *serve);
/* One look at everything: what was queued, a grace period that is needed, ready callbacks.  True if some wait for their
 * owner. */
bool drive_pass(struct driver *driver, const struct turn_options *options);
/* Is there anything that the driver has not looked at? */
bool drive_anything_new(struct driver *driver);
/* Sleep until there is something new; no longer than a tick where @ready callbacks wait for their owner, or a deadline
 * thread, which wakes nobody, may queue something.  @event: the driver's futex before the driver last looked. */
void drive_sleep_idle(struct driver *driver, uint32_t event, bool ready);
/* The same, but only what is urgent wakes the driver. */
void drive_sleep_pacing(struct driver *driver, uint32_t event, int64_t timeout_ns);

/* ---- where the driver has no thread: step.c ---- */

/* One step in a call of the program's: the calling thread is outside sections and may take short locks.  Does nothing
 * where a thread of ours turns the crank, unless @asked. */
void drive_step_here(struct driver *driver, struct serve_share *share, bool asked);

/* Is anything left to do that nobody else may come for? */
bool drive_work_is_left(struct driver *driver);

#endif

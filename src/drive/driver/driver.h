/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Drivers: what turns grace periods and serves callbacks when nobody waits for them.
 */
#ifndef RTRCU_DRIVE_DRIVER_H
#define RTRCU_DRIVE_DRIVER_H

#include "drive/serve/serve.h"
#include "drive/turn/turn.h"

/* ---- drivers: a file each, and the table in init.c ---- */

/* A driver is a row: adding one changes nothing outside this room. */
struct drive_driver {
    const char *name;
    void *(*body)(void *drive); /* of its thread, NULL = it has none */
    /* Of a driver without a thread, in the thread that calls: */
    void (*notify)(struct drive *drive); /* it has queued a callback, or asked for a grace period */
    void (*online)(struct drive *drive); /* it has come online: perhaps nobody does what is left to do */
    void (*leave)(struct drive *drive);  /* it goes offline or ends: another thread must do what is left */
};
extern const struct drive_driver drive_driver_kthread, drive_driver_ltimer, drive_driver_sched, drive_driver_poll;
/* NULL if there is none of that number. */
const struct drive_driver *drive_driver_of(int32_t driver);

/* ---- the driver's thread: driver.c ---- */

/* A backlog is at qmax now. */
void drive_mark_flooded(struct drive *drive);
/* Make the driver's thread, if it needs one and has none.  0: it is there or somebody is at it; or -errno. */
int drive_start(struct drive *drive);
/* The same for call_rcu() and polled cookies: in a fork's child its first thread makes the driver here, a deadline
 * thread too. */
void drive_start_in_call(struct drive *drive);
/* Keep others from making the driver's thread; false: it runs, or somebody is at it. */
bool drive_hold(struct drive *drive);
/* Behind drive_hold() and perhaps a change of the row: a thread that needed a driver meanwhile gets one. */
void drive_changed(struct drive *drive);
/* The calling thread goes, or is not to go on: whatever is left needs somebody else. */
void drive_leave(struct drive *drive);
/* As drive_start(), and wait for the thread that is at it: 0 = it is there. */
int drive_start_surely(struct drive *drive);

/* ---- what every driver does: pass.c ---- */

/* One look at everything: what was queued, a grace period that is needed, ready callbacks.  True if some wait for their
 * owner. */
bool drive_pass(struct drive *drive, const struct drive_turn_options *options);
/* Is there anything that the driver has not looked at? */
bool drive_anything_new(struct drive *drive);
/* Sleep until there is something new; no longer than a tick where @ready callbacks wait for their owner, or a deadline
 * thread, which wakes nobody, may queue something.  @event: the driver's futex before the driver last looked. */
void drive_sleep_idle(struct drive *drive, uint32_t event, bool ready);
/* The same, but only what is urgent wakes the driver. */
void drive_sleep_pacing(struct drive *drive, uint32_t event, int64_t timeout_ns);

/* ---- a driver without a thread: sched.c ---- */

/* One step in a call of the program's: the calling thread is outside sections and may take short locks.  Does nothing
 * where a thread of ours turns the crank, unless @asked. */
void drive_step_here(struct drive *drive, struct drive_share *share, bool asked);

/* ---- callers: caller.c ---- */

/* Is the calling thread one that ordinary threads of the process keep from the CPU: SCHED_IDLE, or nicer than the
 * process was when it began and than its main thread is now?  Never the driver.  Asks the kernel once in some calls. */
bool drive_caller_is_weak(const struct drive *drive);

#endif

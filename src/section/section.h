/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Slow paths of readers: registration, unregistration, and lock, unlock and quiescent states of a thread whose special
 * flag is set.
 *
 * Knows: records, grace periods (it reports to them).  Must not know: callbacks, drivers.
 * Every function acts on the calling thread and returns actions that the caller performs afterwards; none waits or
 * wakes.
 *
 * A slow path is counted in rtrcu_thread.slow while it runs, since handlers nest, and since the switch to full fences
 * must see it.
 *
 * The sections of a thread are stacked: the thread's own at the bottom, then those of each mounted task, in the order
 * of mounting.  A task's base is the nesting of the thread when the task was mounted.  The nesting above it is the
 * task's own, which park removes from the thread and resume adds again.
 *
 * INV-SE1: a report is made only while the calling thread is outside, or is at a quiescent state.
 * INV-SE2: rtrcu_thread.task leads to the tasks that are mounted on the thread with a section that is listed.
 */
#ifndef RTRCU_SECTION_SECTION_H
#define RTRCU_SECTION_SECTION_H

#include "gp/gp.h"

/* ---- sections: slow.c ---- */

/* Slow path of rcu_read_lock(): the flag is set, or the thread is not registered. */
void section_lock_slow(struct gp *gp);
enum gp_actions section_unlock_slow(struct gp *gp);

/* ---- reports: report.c; inside a slow path ---- */

/* Clear the flag, report, end the boost.  The calling thread is outside or at a quiescent state. */
enum gp_actions section_report(struct gp *gp);
/* Slow path of an outermost unlock: the calling thread is outside, and its flag was set. */
enum gp_actions section_leave_outermost(struct gp *gp);
/* Stop counting the calling thread as a reader, if it is counted: it has no record, or entered its section without one.
 * Signals are blocked. */
enum gp_actions section_anonymous_leave(struct gp *gp);

/* ---- unbalanced programs: repair.c ---- */

/* If unlocks without locks have borrowed from the bits above the nesting, report this misuse, restore these bits and
 * return true. */
bool section_repair(struct gp *gp);
/* As section_repair(), called by a lock: the section of that lock stays open, even if its increment only made up for an
 * unlock without a lock. */
void section_repair_lock(struct gp *gp);

/* ---- quiescent-state discipline: quiescent.c ---- */

enum gp_actions section_quiescent_slow(struct gp *gp);
enum gp_actions section_offline(struct gp *gp);
void section_online(struct gp *gp);
/* Is the calling thread an online quiescent-state thread without an explicit section, which may go offline to wait? */
bool section_may_go_offline(struct gp *gp);
/* Explicit sections of the calling thread, not counting the discipline. */
static inline uint32_t section_nesting(void)
{
    return reader_word_nesting(reader_self_word());
}

/* ---- parked tasks: task.c ---- */

/* Suspend @task: list its own sections and remove them from the thread.  With @own_list, on this thread's list if no
 * grace period waits for the thread; in all other cases, on the leaf's. */
enum gp_actions section_task_park(struct gp *gp, struct rcu_task *task, bool own_list);
/* Resume @task here, above the sections that the thread has open. */
void section_task_resume(struct gp *gp, struct rcu_task *task);
/* Transfer the innermost section of the calling thread to the task alone: list it and remove it from the thread. */
enum gp_actions section_task_list(struct gp *gp, struct rcu_task *task, bool own_list);
/* End the listed section of @task, on any thread. */
enum gp_actions section_task_unlist(struct gp *gp, struct rcu_task *task);
enum gp_actions section_task_exit(struct gp *gp, struct rcu_task *task);
/* Unlist tasks mounted here whose outermost section has ended. */
enum gp_actions section_task_done(struct gp *gp);
/* The calling thread exits; end the sections of the tasks that are mounted on it. */
enum gp_actions section_task_abandon(struct gp *gp);

/* Ranks of the locks that slow paths take, as bits.  A handler that interrupted the holder of such a lock leaves work
 * that needs a lock to a later slow path. */
#define SECTION_LOCKS (1u << LOCK_RANK_LEAF | 1u << LOCK_RANK_TASKS)

/* ---- registration: thread.c ---- */

/* Register, or change the flags of a registered thread, which must be offline if it gives up the quiescent-state
 * discipline.  Returns 0, -ENOMEM, or -EBUSY inside a section. */
int section_register(struct gp *gp, unsigned int flags);
/* The record of the calling thread; registers it.  NULL if it cannot have one. */
struct reader_record *section_record(struct gp *gp);

/* ---- unregistering: leave.c ---- */

/* Unregister the calling thread.  @exiting: the thread exits, so a section left open is reported and closed. */
enum gp_actions section_leave(struct gp *gp, bool exiting);

#endif

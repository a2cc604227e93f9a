/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Slow paths of readers: registration and leaving, the special flag's work at lock, unlock and quiescent states.
 *
 * Knows: records, grace periods (it reports to them).  Must not know: callbacks, drivers.
 * Every function acts on the calling thread and returns actions that the caller performs afterwards; none waits or
 * wakes.
 *
 * A slow path is counted in rtrcu_thread.slow while it runs, since handlers nest, and since the switch to full fences
 * must see it.
 *
 * The sections of a thread lie above one another: those of the thread itself, then those of each task that is mounted
 * on it, in the order in which they were mounted.  A task's base is the nesting of the thread when it was mounted; what
 * lies above is its own share, which park takes away and resume adds again.
 *
 * INV-SE1: a report is made only while the calling thread is outside, or is at a quiescent state.
 * INV-SE2: rtrcu_thread.task leads to the tasks that are mounted on the thread with a section that is listed.
 */
#ifndef RTRCU_SECTION_SECTION_H
#define RTRCU_SECTION_SECTION_H

#include "gp/gp.h"

/* ---- sections: slow.c ---- */

/* rcu_read_lock() found the flag or no registration. */
void section_lock_slow(struct gp *gp);
enum gp_actions section_unlock_slow(struct gp *gp);

/* ---- reports: report.c; inside a slow path ---- */

/* Take the flag back, report, end its boost.  The calling thread is outside or at a quiescent state. */
enum gp_actions section_report(struct gp *gp);
/* What an outermost unlock does: the calling thread is outside, and was asked. */
enum gp_actions section_leave_outermost(struct gp *gp);
/* The calling thread, which has no record or entered a section without one, is no longer counted as a reader.  Signals
 * are blocked. */
enum gp_actions section_anonymous_leave(struct gp *gp);

/* ---- unbalanced programs: repair.c ---- */

/* If unlocks without locks have borrowed from the bits above the nesting, report it and put these bits right.  True if
 * so. */
bool section_repair(struct gp *gp);
/* The same behind a lock: where the lock has only undone an unlock too many, its section counts. */
void section_repair_lock(struct gp *gp);

/* ---- quiescent-state discipline: quiescent.c ---- */

enum gp_actions section_quiescent_slow(struct gp *gp);
enum gp_actions section_offline(struct gp *gp);
void section_online(struct gp *gp);
/* An online quiescent-state thread without an explicit section: it may go offline to wait. */
bool section_may_go_offline(struct gp *gp);
/* Explicit sections of the calling thread; the discipline does not count. */
static inline uint32_t section_nesting(void)
{
    return reader_word_nesting(reader_self_word());
}

/* ---- parked tasks: task.c ---- */

/* The task stops here: its share is listed, and leaves the thread.  @own_list: on this thread's list if nobody waits
 * for it, else always on the leaf's. */
enum gp_actions section_task_park(struct gp *gp, struct rcu_task *task, bool own_list);
/* The task goes on here, above the sections that the thread has open. */
void section_task_resume(struct gp *gp, struct rcu_task *task);
/* The innermost section of the calling thread becomes the task's alone: it is listed, and leaves the thread. */
enum gp_actions section_task_list(struct gp *gp, struct rcu_task *task, bool own_list);
/* The section that was listed ends, on any thread. */
enum gp_actions section_task_unlist(struct gp *gp, struct rcu_task *task);
enum gp_actions section_task_exit(struct gp *gp, struct rcu_task *task);
/* Tasks mounted here whose outermost section has ended leave their lists. */
enum gp_actions section_task_done(struct gp *gp);
/* The calling thread ends, and with it the sections of the tasks that are mounted on it. */
enum gp_actions section_task_abandon(struct gp *gp);

/* A handler that interrupted a holder of one of these locks leaves what needs them to a later slow path. */
#define SECTION_LOCKS (1u << LOCK_RANK_LEAF | 1u << LOCK_RANK_TASKS)

/* ---- registration: thread.c ---- */

/* Register, or change the flags of a registered thread, which is offline if it gives the discipline up.  0, -ENOMEM,
 * or -EBUSY inside a section. */
int section_register(struct gp *gp, unsigned int flags);
/* The record of the calling thread; registers it.  NULL if it can have none. */
struct reader_record *section_record(struct gp *gp);

/* ---- leaving: leave.c ---- */

/* Leave the registry.  @exiting: the thread ends, so a section left open is reported and closed. */
enum gp_actions section_leave(struct gp *gp, bool exiting);

#endif

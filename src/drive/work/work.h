/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Workers: threads for one task each, made when first needed, asleep otherwise.
 */
#ifndef RTRCU_DRIVE_WORK_H
#define RTRCU_DRIVE_WORK_H

#include "drive/thread.h"

/* A thread for one task.  Four are real-time threads: one turns expedited grace periods, one boosts
 * readers, one ends the spinning of the thread that boosts, one says reports.  An ordinary one calls the program's
 * handler when parked tasks come that a grace period waits for. */
enum {
    DRIVE_WORKER_EXPEDITED,
    DRIVE_WORKER_BOOST,
    DRIVE_WORKER_NUDGE,
    DRIVE_WORKER_REPORT,
    DRIVE_WORKER_TELL,
    DRIVE_WORKERS
};

/* What a worker is for: a row by the file that has its body. */
struct drive_job {
    const char *name;
    void *(*body)(void *worker);
    /* At which it begins, NULL = SCHED_OTHER: as an ordinary thread a worker might not come to run for long. */
    int (*priority)(const struct rtrcu_config *config);
};
extern const struct drive_job drive_job_expedited, drive_job_boost, drive_job_nudge, drive_job_report, drive_job_tell;

/* A worker.  Its priority, where ABSENT does not run yet, and REALTIME is SCHED_FIFO at any number:
 *
 *  before    transition              after
 *  any       drive_worker_begins()   ABSENT
 *  ABSENT    drive_worker_settle()   ABSENT             what it begins with; it appears with that
 *  ORDINARY  drive_worker_settle()   ORDINARY REALTIME  by itself: what is wanted now, higher or lower
 *  REALTIME  drive_worker_settle()   ORDINARY REALTIME
 *  ABSENT    drive_worker_appears()  ORDINARY REALTIME  by itself
 *  ORDINARY  drive_worker_appears()  ORDINARY
 *  REALTIME  drive_worker_appears()  REALTIME
 *  ABSENT    drive_worker_lift()     ABSENT             its first look at what is wanted is ahead
 *  ORDINARY  drive_worker_lift()     ORDINARY REALTIME  ORDINARY where it is refused
 *  REALTIME  drive_worker_lift()     REALTIME
 *
 * INV-DR4: only a worker itself lowers its priority.
 */
struct drive_worker {
    struct drive *drive;
    const struct drive_job *job; /* constant */
    struct drive_thread thread;
    uint32_t wanted;    /* atomic: boost: bit a kind, boost readers of that grace period; tell: tasks have come */
    uint32_t thread_id; /* atomic: 0 = ABSENT; written by itself */
    struct lock lock;   /* the priority: held over the look at who waits and the change */
    int32_t priority;   /* atomic: in force, 0 = SCHED_OTHER; written under the lock */
    int32_t refused;    /* under the lock: the priority that was refused last, and when */
    int64_t refused_ns;
};

/* A visit to every CPU that is under way, for reports. */
struct drive_visit {
    int64_t began_ns;  /* atomic: 0 = none is; written by the visitor */
    uint32_t visitor;  /* atomic: thread id, 0 = nobody; of several at a time, one */
    uint32_t next_cpu; /* atomic: where it is about to run; written by the visitor */
};

/* ---- workers: worker.c ---- */

/* At the start: there is none yet. */
void drive_worker_init(struct drive *drive, int index, const struct drive_job *job);
/* In a fork's child: true if the forking thread is this one. */
bool drive_worker_after_fork_child(struct drive_worker *worker, struct plat_tid old_thread_id);
/* Make worker @index if it is not there.  0 or -errno. */
int drive_worker_start(struct drive *drive, int index);
void drive_worker_wake(struct drive *drive, int index);
/* The worker sleeps: it has looked for work since it read @event. */
void drive_worker_sleep(struct drive_worker *worker, uint32_t event);

/* ---- their priority: priority.c ---- */

/* Nobody else knows the worker yet, or in a fork's child any more. */
void drive_worker_begins(struct drive_worker *worker, int priority);
/* The calling worker runs: others may lift it. */
void drive_worker_appears(struct drive_worker *worker);
static inline bool drive_worker_has_appeared(const struct drive_worker *worker)
{
    return rtrcu_load_acquire(&worker->thread_id) != 0;
}
static inline int drive_worker_priority(const struct drive_worker *worker)
{
    return rtrcu_load_relaxed(&worker->priority);
}
/* The calling worker runs at the priority that @wanted says from now on; a refusal is counted and said once. */
void drive_worker_settle(struct drive_worker *worker, int (*wanted)(struct drive *));
/* Another thread raises it to @priority, if it is lower. */
void drive_worker_lift(struct drive *drive, int index, int priority);

/* ---- reports: report.c ---- */

/* The handler from now on, NULL = none. */
void drive_set_blocking_handler(struct drive *drive, void (*handler)(void));
/* Have a thread that holds nothing call the handler, since parked tasks have come.  False: no thread can be had now. */
bool drive_tell_handler(struct drive *drive);
/* Have a thread that holds nothing write the reports that watch/ has gathered.  Under the crank; never waits.  Where no
 * such thread can be made, the calling thread writes them by drive_report_left(), after it has released the crank. */
void drive_report(struct drive *drive);
void drive_report_left(struct drive *drive);
/* Have the message written that a deadline thread has left: by the same thread, or here where there is none.  By a
 * thread that may write. */
void drive_message(struct drive *drive);
/* The calling thread is about to visit every CPU: a report says so if that takes too long.  True: drive_visit_ends() is
 * owed. */
bool drive_visit_begins(struct drive *drive);
void drive_visit_ends(struct drive *drive);

#endif

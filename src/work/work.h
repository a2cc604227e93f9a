/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads of the library: how one is created, sleeps and is woken; the driver's thread, and workers for one task each.
 *
 * Knows: everything below.  Must not know: the tasks of these threads.  Higher rooms give their threads a body, and
 * their workers a row.
 *
 *  thread.h      the state of each thread
 *  driver        the row of the driver in force, and its thread: driver.c; waking the driver: wake.c
 *  workers       threads for one task, created when first needed, asleep otherwise: worker.c, priority.c
 *  priorities    of the driver and the daemons, for real-time threads: realtime.h
 *  reports       printed by a thread that holds no lock: report.c
 *  invokers      of callbacks, in any room: paused for a fork: pause.h; a backlog at qmax: backlog.h
 */
#ifndef RTRCU_WORK_WORK_H
#define RTRCU_WORK_WORK_H

#include "work/backlog.h"
#include "work/pause.h"
#include "work/realtime.h"

struct driver;
struct work;

/* Threads for one task each.  Five are real-time threads: one advances expedited grace periods, one boosts readers, one
 * ends the spinning of the booster, one prints reports, one sets priorities.  An ordinary one calls the program's
 * handler when a grace period begins to wait for parked tasks. */
enum {
    WORK_WORKER_EXPEDITED,
    WORK_WORKER_BOOST,
    WORK_WORKER_NUDGE,
    WORK_WORKER_REPORT,
    WORK_WORKER_NOTIFY,
    WORK_WORKER_SHARE,
    WORK_WORKERS
};

/* Value: one kind of worker: name, thread function, initial priority.  Defined in the file that implements its thread
 * function. */
struct work_job {
    const char *name;
    void *(*body)(void *worker);
    /* The worker's initial priority; NULL: SCHED_OTHER, at which a worker might not run for a long time.  @creator: the
     * priority of the creating thread, which waits for the worker, perhaps beside threads of lower priority that never
     * sleep. */
    int (*priority)(const struct rtrcu_config *config, int creator);
    /* Must the worker be created even if the driver has no thread, to call a handler that the program has set?  NULL:
     * never. */
    bool (*calls_handler)(const struct work *work);
};

/* A worker.  Its priority, where ABSENT does not run yet, and REALTIME is SCHED_FIFO at any priority:
 *
 *  before    transition              after
 *  any       work_worker_begins()   ABSENT
 *  ABSENT    work_worker_settle()   ABSENT             its initial priority, before work_worker_appears()
 *  ORDINARY  work_worker_settle()   ORDINARY REALTIME  by itself: the priority wanted now, higher or lower
 *  REALTIME  work_worker_settle()   ORDINARY REALTIME
 *  ABSENT    work_worker_appears()  ORDINARY REALTIME  by itself
 *  ORDINARY  work_worker_appears()  ORDINARY
 *  REALTIME  work_worker_appears()  REALTIME
 *  ABSENT    work_worker_lift()     ABSENT             the worker has yet to read the wanted priority
 *  ORDINARY  work_worker_lift()     ORDINARY REALTIME  ORDINARY if refused
 *  REALTIME  work_worker_lift()     REALTIME
 *  any       work_worker_leaves()   ABSENT             by itself, before it ends
 *
 * INV-DR4: only a worker itself lowers its priority.
 */
struct work_worker {
    struct work *work;
    const struct work_job *job; /* constant */
    void *owner;                /* constant: argument of its body and of the function that returns its priority */
    struct work_thread thread;
    uint32_t wanted;    /* atomic: bits; booster: the kinds of grace period whose readers to boost; notifier: tasks
                           have arrived */
    uint32_t thread_id; /* atomic: 0 = ABSENT; written by the worker */
    struct lock lock;   /* guards the priority: held from reading the wanted priority to the change */
    int32_t priority;   /* atomic: in force, 0 = SCHED_OTHER; written under the lock */
    int32_t refused;    /* under the lock: the priority refused last, and when */
    int64_t refused_ns;
};

/* A visit to every CPU in progress, for reports. */
struct work_visit {
    int64_t began_ns;  /* atomic: 0 = none in progress; written by the visitor */
    uint32_t visitor;  /* atomic: id of the one visitor that reports cover, 0 = none */
    uint32_t next_cpu; /* atomic: CPU on which the visitor is about to run; written by the visitor */
};

/* ---- the driver in force ---- */

/* Value: a driver, as a row of functions. */
struct work_driver {
    const char *name;
    void (*body)(struct driver *driver); /* body of its thread; returns at a shutdown.  NULL = it has no thread */
    /* Of a driver without a thread, called in a program thread: */
    void (*notify)(struct driver *driver); /* the thread has queued a callback, or requested a grace period */
    void (*online)(struct driver *driver); /* the thread has come online: have it check for work that is left */
    void (*leave)(struct driver *driver);  /* the thread goes offline or exits: have another thread do the work */
};

/* Value: threads of one room that invoke callbacks. */
struct work_invokers {
    bool (*any)(void *owner); /* is such a thread inside a callback? */
    void *owner;
};
/* Number of rooms with such threads: serve, srcu. */
#define WORK_INVOKERS 2

struct work {
    const struct config *config;
    struct reader_registry *registry;
    struct callback *cb;
    struct watch *watch;
    /* The driver. */
    const struct work_driver *row; /* atomic: written by work_driver_change(), with its thread held */
    struct driver *driver;         /* constant: argument of the row's functions */
    struct work_thread thread;     /* the driver's */
    struct work_rt_thread rt_driver;
    struct work_rt rt;
    int64_t flooded_ns; /* atomic: when a backlog was last seen at qmax */
    uint32_t urgent;    /* atomic: the next grace period begins immediately */
    struct counter wakeups;
    struct plat_tid survivor; /* the thread that forked this process, none = not forked; written in a child before it
                                 has a second thread */
    /* All threads. */
    const struct plat_thread_attr *attr; /* atomic: attributes of threads created from now on */
    struct work_attr *attrs;             /* all attributes but `process`, newest first; under the configuration lock */
    struct plat_thread_attr process;     /* attributes with which the process began */
    int64_t refused_ns;                  /* atomic: when a thread was last refused, 0 = never */
    struct counter threads_refused;
    struct work_thread *made; /* atomic: all that have been created at least once, newest first */
    uint32_t is_shut_down;    /* atomic: library threads end; set by work_thread_end_all() alone */
    uint64_t threads;         /* atomic: number of library threads, and above 32 bits the number of changes */
    struct counter rt_refused;
    /* The end of the process. */
    struct work_thread end;                       /* the thread that ends it */
    uint32_t main_ended;                          /* atomic: the process's main thread has called pthread_exit() */
    struct work_invokers invokers[WORK_INVOKERS]; /* constant after initialisation; .any = NULL: unused */
    /* Workers. */
    struct work_worker worker[WORK_WORKERS];
    struct work_visit visit;
    uint32_t report_is_left;        /* atomic: a report waits for a thread that holds no lock, and there is no worker */
    void (*blocking_handler)(void); /* atomic: the program's handler for grace periods that wait for parked tasks */
};

/* Fields that this room shows to other processes, for a struct work at @at of @type. */
#define WORK_INSPECT(type, at)                                                                                         \
    INSPECT_FIELD("drive.wakeups", type, at.wakeups), INSPECT_FIELD("drive.rt_refused", type, at.rt_refused),          \
        INSPECT_FIELD("drive.threads_refused", type, at.threads_refused)

/* @driver: argument of the row's functions. */
void work_init(struct work *work, const struct config *config, struct reader_registry *registry, struct callback *cb,
               struct watch *watch, const struct work_driver *row, struct driver *driver);
/* At initialisation: register @any; the process does not end while it reports that an invoker is inside a callback. */
void work_end_after(struct work *work, bool (*any)(void *owner), void *owner);
void work_after_fork_child(struct work *work, struct plat_tid old_thread_id);
/* Fill in the counters of this room. */
void work_stats(const struct work *work, struct rtrcu_stats *stats);

static inline int64_t work_tick_ns(const struct work *work)
{
    return config_now(work->config)->tick_us * 1000;
}
/* Attributes of threads created now. */
static inline const struct plat_thread_attr *work_attr(const struct work *work)
{
    return rtrcu_load_acquire(&work->attr);
}
/* The attributes with the CPUs and the stack size of @settings; NULL: no memory. */
const struct plat_thread_attr *work_attr_for(struct work *work, const struct rtrcu_config *settings);
/* Was a backlog at qmax within the last WORK_FLOOD_NS?  Then the library's threads hurry. */
#define WORK_FLOOD_NS 10000000
static inline bool work_is_flooded(const struct work *work, int64_t now)
{
    return now - rtrcu_load_relaxed(&work->flooded_ns) < WORK_FLOOD_NS;
}
/* Record that a backlog is at qmax now. */
static inline void work_mark_flooded(struct work *work)
{
    rtrcu_store_relaxed(&work->flooded_ns, plat_clock_now());
}
/* Do library threads continue?  False while the library is shut down: their bodies return. */
static inline bool work_goes_on(const struct work *work)
{
    return !rtrcu_load_acquire(&work->is_shut_down);
}
/* Try again immediately to create a thread that was refused. */
static inline void work_retry(struct work *work)
{
    rtrcu_store_relaxed(&work->refused_ns, 0);
}
/* Called when the main thread ends by pthread_exit(): from now on the process ends with the last program thread. */
void work_main_ends(struct work *work);
/* Count a refusal of real-time scheduling.  True for the first one. */
static inline bool work_count_rt_refused(struct work *work)
{
    return counter_add(&work->rt_refused, 1) == 0;
}

/* ---- sleeping: sleep.c ---- */

/* Sleep while *word == @expected, at most @timeout_ns; marked as asleep, so that a switch to full fences does not wait
 * for this thread. */
void work_sleep(struct work *work, uint32_t *word, uint32_t expected, int64_t timeout_ns);
/* Take a lock that its holder may keep for whole grace periods (barrier_lock, config_lock) or for a step (a gp lock);
 * boosts the holder.  Marked as asleep meanwhile. */
void work_take_long(struct work *work, struct lock *lock);

/* ---- the driver's thread: driver.c ---- */

/* The row in force.  A concurrent change may replace it, so a caller reads it once for each decision. */
static inline const struct work_driver *work_driver_row(const struct work *work)
{
    return rtrcu_load_acquire(&work->row);
}
/* Does the driver in force have a thread, so that the library may create others? */
static inline bool work_driver_has_thread(const struct work *work)
{
    return work_driver_row(work)->body != NULL;
}
/* Does the driver have a thread that runs? */
static inline bool work_driver_runs(const struct work *work)
{
    return work_thread_runs(&work->thread);
}
/* Is the driver's thread the calling one? */
static inline bool work_driver_is_me(const struct work *work)
{
    return work_thread_is_me(&work->thread);
}
/* Was the driver's thread refused: does it not exist, and is no thread creating it?  Called after an attempt to create
 * it. */
static inline bool work_driver_is_refused(const struct work *work)
{
    return rtrcu_load_acquire(&work->thread.state) == WORK_NONE;
}
/* The driver's thread, for its body. */
static inline struct work_thread *work_driver_thread(struct work *work)
{
    return &work->thread;
}
/* Create the driver's thread, if it needs one and has none.  0: it exists or is being created; or -errno. */
int work_driver_start(struct work *work);
/* As work_driver_start(), for call_rcu() and polled cookies: in a fork's child the first thread creates the driver
 * here, even a deadline thread. */
void work_driver_start_in_call(struct work *work);
/* Keep other threads from creating the driver's thread.  False: it runs, or is being created. */
bool work_driver_hold(struct work *work);
/* After work_driver_hold() and perhaps a change of the row: start the driver for a thread that needed it meanwhile. */
void work_driver_changed(struct work *work);
/* The calling thread exits or must not continue: have another thread do the work that is left. */
void work_driver_leave(struct work *work);
/* As work_driver_start(), and wait for a concurrent creation.  0 = it exists. */
int work_driver_start_surely(struct work *work);

/* Change the driver and the threads' attributes; the driver's thread is held. */
void work_driver_change(struct work *work, const struct work_driver *driver, const struct plat_thread_attr *attr);

/* ---- waking the driver: wake.c ---- */

/* Is urgent work pending?  A hint. */
static inline bool work_may_be_urgent(const struct work *work)
{
    return rtrcu_load_relaxed(&work->urgent);
}
static inline bool work_is_urgent(const struct work *work)
{
    return rtrcu_load_acquire(&work->urgent);
}
/* Called by the driver or its stand-in, which does the urgent work now.  True if there was some. */
static inline bool work_take_urgent(struct work *work)
{
    return rtrcu_exchange(&work->urgent, 0);
}
/* Notify the driver of work; @urgent: immediately, not at its next tick. */
void work_driver_wake(struct work *work, bool urgent);
/* Wake the driver unconditionally.  A deadline thread calls this too: when it registers, so that the driver ticks from
 * now on, and when it waits. */
void work_driver_wake_always(struct work *work);
/* The calling thread is online again.  A deadline thread wakes no thread from now on, so if the driver sleeps without a
 * timeout, wake it.  If the driver has no thread, this thread may have to do the work that is left. */
void work_driver_online(struct work *work);
/* As work_driver_wake() from a thread that may not make a system call: the driver finds the work at its next tick. */
void work_driver_wake_later(struct work *work, bool urgent);

/* ---- callers: caller.c ---- */

/* Is the calling thread one that ordinary threads of the process keep from the CPU: SCHED_IDLE, or of a higher nice
 * value than the process had when it began and than its main thread has now?  Never true for the driver.  Reads the
 * kernel's value in one of several calls. */
bool work_caller_is_low_priority(const struct work *work);

/* ---- workers: worker.c ---- */

/* At initialisation: the worker does not exist yet. */
void work_worker_init(struct work *work, int index, const struct work_job *job, void *owner);
void work_worker_after_fork_child(struct work_worker *worker, struct plat_tid old_thread_id);
static inline struct work_worker *work_worker(struct work *work, int index)
{
    return &work->worker[index];
}
static inline void *work_worker_owner(const struct work_worker *worker)
{
    return worker->owner;
}
/* Create the worker if it does not exist.  0 or -errno. */
int work_worker_start(struct work_worker *worker);
static inline bool work_worker_runs(const struct work_worker *worker)
{
    return work_thread_runs(&worker->thread);
}
static inline void work_worker_wake(struct work_worker *worker)
{
    work_thread_wake(&worker->thread);
}
/* Count of wake-ups: see work_thread_event(). */
static inline uint32_t work_worker_event(const struct work_worker *worker)
{
    return work_thread_event(&worker->thread);
}
/* Sleep, as the worker, which has checked for work since it read @event. */
void work_worker_sleep(struct work_worker *worker, uint32_t event, int64_t timeout_ns);
/* Set bits of work for the worker; fetch, as the worker, the bits set since the last time. */
static inline void work_worker_want(struct work_worker *worker, uint32_t bits)
{
    rtrcu_fetch_or(&worker->wanted, bits);
}
static inline uint32_t work_worker_take_wanted(struct work_worker *worker)
{
    return rtrcu_exchange(&worker->wanted, 0);
}

/* ---- their priority: priority.c ---- */

/* Reset the priority.  No other thread uses the worker yet, or, in a fork's child, any more. */
void work_worker_begins(struct work_worker *worker, int priority);
/* The calling worker runs: other threads may raise its priority. */
void work_worker_appears(struct work_worker *worker);
/* The calling worker ends: from now on no other thread raises its priority. */
void work_worker_leaves(struct work_worker *worker);
static inline bool work_worker_has_appeared(const struct work_worker *worker)
{
    return rtrcu_load_acquire(&worker->thread_id) != 0;
}
static inline int work_worker_priority(const struct work_worker *worker)
{
    return rtrcu_load_relaxed(&worker->priority);
}
/* Set the calling worker's priority to the value that @wanted returns from now on; a refusal is counted and printed
 * once. */
void work_worker_settle(struct work_worker *worker, int (*wanted)(void *owner));
/* The lock of the worker's priority, held from reading the waiters' priority to the change. */
static inline struct lock *work_worker_lock(struct work_worker *worker)
{
    return &worker->lock;
}
/* Raise the worker to @priority, if its priority is lower; called by another thread. */
void work_worker_lift(struct work_worker *worker, int priority);

/* Count and print a refusal of real-time scheduling. */
void work_refuse_rt(struct work *work, int error);

/* ---- priorities of the driver and the daemons: realtime.c ---- */

extern const struct work_job work_job_share;
/* The priority with which a thread of @kind is created now. */
int work_rt_priority(const struct work *work, enum work_rt_kind kind);
/* Does the driver have a real-time priority because real-time threads queue callbacks? */
static inline bool work_rt_follows(const struct work *work)
{
    return rtrcu_load_relaxed(&work->rt.state) != WORK_RT_OFF && config_now(work->config)->gp_rtprio < 0;
}
/* Called by the driver and the daemons: work_rt_begins() when the thread begins, work_rt_runs() when it has work after
 * a sleep. */
void work_rt_begins(struct work *work, struct work_rt_thread *rt, const struct work_thread *thread,
                    enum work_rt_kind kind);
void work_rt_runs(struct work *work, struct work_rt_thread *rt);
static inline void work_rt_driver_runs(struct work *work)
{
    work_rt_runs(work, &work->rt_driver);
}
/* The calling thread queues callbacks, or waits for them.  @producer: its scheduling class as known so far, initially
 * zero. */
void work_rt_note(struct work *work, struct work_producer *producer);
/* As work_rt_note(), for a thread that registers: its class is read even if it is a deadline thread, which cannot read
 * it later. */
void work_rt_note_at_registration(struct work *work, struct work_producer *producer);
/* The settings have changed: have the existing threads take their new priorities.  With no lock held. */
void work_rt_changed(struct work *work);
void work_rt_after_fork_child(struct work *work);

/* ---- reports: report.c ---- */

/* Set the handler, NULL = none. */
void work_set_blocking_handler(struct work *work, void (*handler)(void));
/* Have a thread that holds no lock call the handler, since a grace period begins to wait for parked tasks.  False: no
 * thread is available now. */
bool work_notify_handler(struct work *work);
extern const struct work_job work_job_report, work_job_notify;
/* Have a thread that holds no lock print the reports that watch/ has gathered.  Under the gp lock; never waits.  If
 * no such thread can be created, the calling thread prints them by work_report_left() after it has released the gp
 * lock. */
void work_report(struct work *work);
void work_report_left(struct work *work);
/* Have a message of a deadline thread printed: by the worker that prints reports, or here if there is none.  Called by
 * a thread that may write. */
void work_message(struct work *work);
/* Has the program set a handler? */
static inline bool work_has_blocking_handler(const struct work *work)
{
    return rtrcu_load_acquire(&work->blocking_handler);
}
/* The calling thread is about to visit every CPU, and a report is due if that takes too long.  True: call
 * work_visit_ends() afterwards. */
bool work_visit_begins(struct work *work);
/* The CPU on which the visitor is about to run; written by the visitor. */
static inline uint32_t *work_visit_next_cpu(struct work *work)
{
    return &work->visit.next_cpu;
}
void work_visit_ends(struct work *work);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads of the library: how one is made, sleeps and is woken; the driver's, and workers for one task each.
 *
 * Knows: everything below.  Must not know: what the threads do.  The rooms that do it give their threads a body, and
 * their workers a row.
 *
 *  thread.h      what each thread keeps of itself
 *  driver        the row of the driver in force, and its thread: driver.c; waking it: wake.c
 *  workers       threads for one task, made when first needed, asleep otherwise: worker.c, priority.c
 *  reports       by a thread that holds nothing: report.c
 *  invokers      of callbacks, wherever they are: forks hold them off: pause.h; a backlog at qmax: backlog.h
 */
#ifndef RTRCU_WORK_WORK_H
#define RTRCU_WORK_WORK_H

#include "work/backlog.h"
#include "work/pause.h"
#include "work/thread.h"

struct driver;
struct serve;
struct work;

/* A thread for one task.  Four are real-time threads: one turns expedited grace periods, one boosts
 * readers, one ends the spinning of the thread that boosts, one says reports.  An ordinary one calls the program's
 * handler when parked tasks come that a grace period waits for. */
enum {
    WORK_WORKER_EXPEDITED,
    WORK_WORKER_BOOST,
    WORK_WORKER_NUDGE,
    WORK_WORKER_REPORT,
    WORK_WORKER_NOTIFY,
    WORK_WORKERS
};

/* Value: what a worker is for, a row by the file that has its body. */
struct work_job {
    const char *name;
    void *(*body)(void *worker);
    /* At which it begins, NULL = SCHED_OTHER: as an ordinary thread a worker might not come to run for long. */
    int (*priority)(const struct rtrcu_config *config);
    /* It is made where the driver has no thread too: to call a handler that the program has set.  NULL: never. */
    bool (*calls_handler)(const struct work *work);
};

/* A worker.  Its priority, where ABSENT does not run yet, and REALTIME is SCHED_FIFO at any number:
 *
 *  before    transition              after
 *  any       work_worker_begins()   ABSENT
 *  ABSENT    work_worker_settle()   ABSENT             what it begins with; it appears with that
 *  ORDINARY  work_worker_settle()   ORDINARY REALTIME  by itself: what is wanted now, higher or lower
 *  REALTIME  work_worker_settle()   ORDINARY REALTIME
 *  ABSENT    work_worker_appears()  ORDINARY REALTIME  by itself
 *  ORDINARY  work_worker_appears()  ORDINARY
 *  REALTIME  work_worker_appears()  REALTIME
 *  ABSENT    work_worker_lift()     ABSENT             its first look at what is wanted is ahead
 *  ORDINARY  work_worker_lift()     ORDINARY REALTIME  ORDINARY where it is refused
 *  REALTIME  work_worker_lift()     REALTIME
 *
 * INV-DR4: only a worker itself lowers its priority.
 */
struct work_worker {
    struct work *work;
    const struct work_job *job; /* constant */
    void *owner;                /* constant: what its body works on, and asks for its priority */
    struct work_thread thread;
    uint32_t wanted;    /* atomic: boost: bit a kind, boost readers of that grace period; tell: tasks have come */
    uint32_t thread_id; /* atomic: 0 = ABSENT; written by itself */
    struct lock lock;   /* the priority: held over the look at who waits and the change */
    int32_t priority;   /* atomic: in force, 0 = SCHED_OTHER; written under the lock */
    int32_t refused;    /* under the lock: the priority that was refused last, and when */
    int64_t refused_ns;
};

/* A visit to every CPU that is under way, for reports. */
struct work_visit {
    int64_t began_ns;  /* atomic: 0 = none is; written by the visitor */
    uint32_t visitor;  /* atomic: thread id, 0 = nobody; of several at a time, one */
    uint32_t next_cpu; /* atomic: where it is about to run; written by the visitor */
};

/* ---- the driver in force ---- */

/* Value: a driver is a row; adding one changes nothing outside the drivers' room. */
struct work_driver {
    const char *name;
    void (*body)(struct driver *driver); /* of its thread; it does not return.  NULL = it has none */
    /* Of a driver without a thread, in the thread that calls: */
    void (*notify)(struct driver *driver); /* it has queued a callback, or asked for a grace period */
    void (*online)(struct driver *driver); /* it has come online: perhaps nobody does what is left to do */
    void (*leave)(struct driver *driver);  /* it goes offline or ends: another thread must do what is left */
};

struct work {
    const struct config *config;
    struct reader_registry *registry;
    struct callback *cb;
    struct watch *watch;
    /* The driver. */
    const struct work_driver *row; /* atomic: written by work_driver_change(), with its thread held */
    struct driver *driver;         /* constant: what the functions of the row are given */
    struct work_thread thread;     /* the driver's */
    int64_t flooded_ns;            /* atomic: when a backlog was last seen at qmax */
    uint32_t urgent;               /* atomic: the next grace period begins at once */
    struct counter wakeups;
    struct plat_tid survivor; /* the thread that forked this process, nobody = it was not forked; written in a child
                                 before it has a second thread */
    /* All threads. */
    const struct plat_thread_attr *attr; /* atomic: where threads run that are made from now on; an old one stays */
    struct work_attr *attrs;             /* others than the process's, newest first; under the configuration lock */
    struct plat_thread_attr process;     /* as it began */
    int64_t refused_ns;                  /* atomic: when a thread was refused last, 0 = never */
    struct counter threads_refused;
    uint64_t threads; /* atomic: those of ours now, and above 32 bits how often that has changed */
    struct counter rt_refused;
    /* The end of the process. */
    struct work_thread end;                      /* the thread that ends it */
    uint32_t main_ended;                         /* atomic: the process's main thread has called pthread_exit() */
    bool (*anybody_serves)(struct serve *serve); /* constant: is an invoker of ours inside a callback? */
    struct serve *serve;                         /* constant: what it is asked with */
    /* Workers. */
    struct work_worker worker[WORK_WORKERS];
    struct work_visit visit;
    uint32_t report_is_left;        /* atomic: a report waits for a thread that holds nothing, and there is no worker */
    void (*blocking_handler)(void); /* atomic: told whenever tasks come that a grace period waits for */
};

/* What this room tells other processes, where it lies in @type as @at. */
#define WORK_INSPECT(type, at)                                                                                         \
    INSPECT_FIELD("drive.wakeups", type, at.wakeups), INSPECT_FIELD("drive.rt_refused", type, at.rt_refused),          \
        INSPECT_FIELD("drive.threads_refused", type, at.threads_refused)

/* @driver: what the functions of a row are given. */
void work_init(struct work *work, const struct config *config, struct reader_registry *registry, struct callback *cb,
               struct watch *watch, const struct work_driver *row, struct driver *driver);
/* The process does not end while an invoker of ours is inside a callback. */
void work_end_after(struct work *work, bool (*anybody_serves)(struct serve *serve), struct serve *serve);
void work_after_fork_child(struct work *work, struct plat_tid old_thread_id);
/* Fill in what this room counts. */
void work_stats(const struct work *work, struct rtrcu_stats *stats);

static inline int64_t work_tick_ns(const struct work *work)
{
    return config_now(work->config)->tick_us * 1000;
}
/* Where threads run that are made now. */
static inline const struct plat_thread_attr *work_attr(const struct work *work)
{
    return rtrcu_load_acquire(&work->attr);
}
/* The home with the CPUs and the stacks of @settings; NULL: no memory. */
const struct plat_thread_attr *work_attr_for(struct work *work, const struct rtrcu_config *settings);
/* Was a backlog at qmax within the last WORK_FLOOD_NS?  Then threads of ours hurry. */
#define WORK_FLOOD_NS 10000000
static inline bool work_is_flooded(const struct work *work, int64_t now)
{
    return now - rtrcu_load_relaxed(&work->flooded_ns) < WORK_FLOOD_NS;
}
/* A backlog is at qmax now. */
static inline void work_mark_flooded(struct work *work)
{
    rtrcu_store_relaxed(&work->flooded_ns, plat_clock_now());
}
/* A thread that was refused is tried again at once. */
static inline void work_retry(struct work *work)
{
    rtrcu_store_relaxed(&work->refused_ns, 0);
}
/* The main thread ends by pthread_exit(): from now on the process ends with the last thread that is not ours. */
void work_main_ends(struct work *work);
/* Real-time scheduling was refused.  True: for the first time. */
static inline bool work_count_rt_refused(struct work *work)
{
    return counter_add(&work->rt_refused, 1) == 0;
}

/* ---- sleeping: sleep.c ---- */

/* Sleep while *word == @expected, at most @timeout_ns: away, so that a switch to full fences does not wait for us. */
void work_sleep(struct work *work, uint32_t *word, uint32_t expected, int64_t timeout_ns);
/* Take a lock whose holder may keep it for whole grace periods (barrier_lock, config_lock) or for a step (a crank);
 * boosts the holder.  Away meanwhile. */
void work_take_long(struct work *work, struct lock *lock);

/* ---- the driver's thread: driver.c ---- */

/* The row in force; perhaps the one before a change, so it is read once for each decision. */
static inline const struct work_driver *work_driver_row(const struct work *work)
{
    return rtrcu_load_acquire(&work->row);
}
/* Has the driver in force a thread, so that the library may have others? */
static inline bool work_driver_has_thread(const struct work *work)
{
    return work_driver_row(work)->body != NULL;
}
/* Has the driver a thread that runs? */
static inline bool work_driver_runs(const struct work *work)
{
    return work_thread_runs(&work->thread);
}
/* Is it the calling thread? */
static inline bool work_driver_is_me(const struct work *work)
{
    return work_thread_is_me(&work->thread);
}
/* After an attempt to make it: it has none, and no thread is making it. */
static inline bool work_driver_is_refused(const struct work *work)
{
    return rtrcu_load_acquire(&work->thread.state) == WORK_NONE;
}
/* For its body. */
static inline struct work_thread *work_driver_thread(struct work *work)
{
    return &work->thread;
}
/* Make the driver's thread, if it needs one and has none.  0: it is there or somebody is at it; or -errno. */
int work_driver_start(struct work *work);
/* The same for call_rcu() and polled cookies: in a fork's child its first thread makes the driver here, a deadline
 * thread too. */
void work_driver_start_in_call(struct work *work);
/* Keep others from making the driver's thread; false: it runs, or somebody is at it. */
bool work_driver_hold(struct work *work);
/* Behind work_driver_hold() and perhaps a change of the row: a thread that needed a driver meanwhile gets one. */
void work_driver_changed(struct work *work);
/* The calling thread goes, or is not to go on: whatever is left needs somebody else. */
void work_driver_leave(struct work *work);
/* As work_driver_start(), and wait for the thread that is at it: 0 = it is there. */
int work_driver_start_surely(struct work *work);

/* Another driver and home, from now on; the driver's thread is held. */
void work_driver_change(struct work *work, const struct work_driver *driver, const struct plat_thread_attr *attr);

/* ---- waking it: wake.c ---- */

/* Is something urgent for it?  A hint. */
static inline bool work_may_be_urgent(const struct work *work)
{
    return rtrcu_load_relaxed(&work->urgent);
}
static inline bool work_is_urgent(const struct work *work)
{
    return rtrcu_load_acquire(&work->urgent);
}
/* By the driver, or who stands in for it: it does now what is urgent.  True if anything was. */
static inline bool work_take_urgent(struct work *work)
{
    return rtrcu_exchange(&work->urgent, 0);
}
/* The driver has something new to do; @urgent: at once, and not at its next tick. */
void work_driver_wake(struct work *work, bool urgent);
/* Wake it in any case, from a deadline thread too: one that registers, so that the driver ticks from now on, or one
 * that waits. */
void work_driver_wake_always(struct work *work);
/* The calling thread is online again: if it is a deadline thread, which wakes nobody from now on, and the driver sleeps
 * without a timeout, it is woken.  Without a thread of the driver, it may have to be at what is left. */
void work_driver_online(struct work *work);
/* As work_driver_wake() from a thread that may not make a system call: the driver finds it at its next tick. */
void work_driver_wake_later(struct work *work, bool urgent);

/* ---- callers: caller.c ---- */

/* Is the calling thread one that ordinary threads of the process keep from the CPU: SCHED_IDLE, or nicer than the
 * process was when it began and than its main thread is now?  Never the driver.  Asks the kernel once in some calls. */
bool work_caller_is_low_priority(const struct work *work);

/* ---- workers: worker.c ---- */

/* At the start: there is none yet. */
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
/* Make it if it is not there.  0 or -errno. */
int work_worker_start(struct work_worker *worker);
static inline bool work_worker_runs(const struct work_worker *worker)
{
    return work_thread_runs(&worker->thread);
}
static inline void work_worker_wake(struct work_worker *worker)
{
    work_thread_wake(&worker->thread);
}
/* How often it has been woken: see work_thread_event(). */
static inline uint32_t work_worker_event(const struct work_worker *worker)
{
    return work_thread_event(&worker->thread);
}
/* The worker sleeps: it has looked for work since it read @event. */
void work_worker_sleep(struct work_worker *worker, uint32_t event, int64_t timeout_ns);
/* What it is to do, as bits, and by the worker: what it was asked for since the last time. */
static inline void work_worker_want(struct work_worker *worker, uint32_t bits)
{
    rtrcu_fetch_or(&worker->wanted, bits);
}
static inline uint32_t work_worker_take_wanted(struct work_worker *worker)
{
    return rtrcu_exchange(&worker->wanted, 0);
}

/* ---- their priority: priority.c ---- */

/* Nobody else knows the worker yet, or in a fork's child any more. */
void work_worker_begins(struct work_worker *worker, int priority);
/* The calling worker runs: others may lift it. */
void work_worker_appears(struct work_worker *worker);
static inline bool work_worker_has_appeared(const struct work_worker *worker)
{
    return rtrcu_load_acquire(&worker->thread_id) != 0;
}
static inline int work_worker_priority(const struct work_worker *worker)
{
    return rtrcu_load_relaxed(&worker->priority);
}
/* The calling worker runs at the priority that @wanted says from now on; a refusal is counted and said once. */
void work_worker_settle(struct work_worker *worker, int (*wanted)(void *owner));
/* It is held over the look at who waits and the change. */
static inline struct lock *work_worker_lock(struct work_worker *worker)
{
    return &worker->lock;
}
/* Another thread raises it to @priority, if it is lower. */
void work_worker_lift(struct work_worker *worker, int priority);

/* ---- reports: report.c ---- */

/* The handler from now on, NULL = none. */
void work_set_blocking_handler(struct work *work, void (*handler)(void));
/* Have a thread that holds nothing call the handler, since parked tasks have come.  False: no thread can be had now. */
bool work_notify_handler(struct work *work);
extern const struct work_job work_job_report, work_job_notify;
/* Have a thread that holds nothing write the reports that watch/ has gathered.  Under the crank; never waits.  Where no
 * such thread can be made, the calling thread writes them by work_report_left(), after it has released the crank. */
void work_report(struct work *work);
void work_report_left(struct work *work);
/* Have the message written that a deadline thread has left: by the same thread, or here where there is none.  By a
 * thread that may write. */
void work_message(struct work *work);
/* Has the program set a handler? */
static inline bool work_has_blocking_handler(const struct work *work)
{
    return rtrcu_load_acquire(&work->blocking_handler);
}
/* The calling thread is about to visit every CPU: a report says so if that takes too long.  True: work_visit_ends() is
 * owed. */
bool work_visit_begins(struct work *work);
/* Where the visitor is about to run, written by it. */
static inline uint32_t *work_visit_next_cpu(struct work *work)
{
    return &work->visit.next_cpu;
}
void work_visit_ends(struct work *work);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Real-time priorities of the driver and the daemons, while a real-time thread queues callbacks, and for a share of the
 * CPU time.
 *
 * One worker, rtrcu-share, changes their priorities.  It has a priority above theirs, so it also lowers a thread in the
 * middle of a callback that does not return.  A thread whose use of CPU time exceeds its share is an ordinary thread
 * until the share has made up for it.  While the state is OFF, a thread that begins or wakes with a real-time priority
 * lowers itself.
 *
 *  state    transition               after
 *  OFF      work_rt_note()           ON       by a real-time producer, which wakes the worker
 *  OFF      work_rt_runs()           ON       the same, by the driver or a daemon, or where a setting demands it
 *  any      look()                   ON       one of the threads is awake: the worker checks again after
 *  WORK_RT_LOOK_NS any      look()                   RESTING  all sleep and keep their priority: where a setting
 *  demands it, or until no real-time producer has queued for WORK_RT_HOLD_NS any      look()                   OFF
 *  no real-time producer for WORK_RT_HOLD_NS, or refused: all SCHED_OTHER any      share_body()             OFF
 *  the library is shut down ON       start()                  OFF      the worker cannot be created: threads that
 *  `auto` raised become ordinary RESTING  work_rt_runs()           ON       by the driver or a daemon, which wakes the
 *  worker
 */
#ifndef RTRCU_WORK_REALTIME_H
#define RTRCU_WORK_REALTIME_H

#include "work/thread.h"

/* Interval between the worker's checks; time for which a real-time producer counts; interval between readings of a
 * producer's scheduling class. */
#define WORK_RT_LOOK_NS 10000000
#define WORK_RT_HOLD_NS 1000000000
#define WORK_RT_CLASS_NS 1000000000
/* How long a refusal of a priority is remembered, so that not every call tries again in vain. */
#define WORK_REFUSED_NS 1000000000
/* The priority that the setting `auto` gives. */
#define WORK_RT_AUTO 1

enum work_rt_kind { WORK_RT_DRIVER, WORK_RT_DAEMON };
enum work_rt_state { WORK_RT_OFF, WORK_RT_ON, WORK_RT_RESTING };

/* State of a thread whose priority follows the producers'.  Under the lock of `struct work_rt`. */
struct work_rt_thread {
    struct work_rt_thread *next;
    const struct work_thread *thread;
    enum work_rt_kind kind;
    bool spent;       /* the thread has used its share, and is an ordinary thread until it is allowed more */
    bool went_on;     /* the thread has begun a batch, or woken, since `spent` was set */
    int32_t priority; /* atomic for others: in force, 0 = SCHED_OTHER; written under the lock */
    int64_t cpu_ns;   /* CPU time that the thread had used at the last check */
    int64_t debt_ns;  /* real-time use beyond the share so far, at least 0 */
};

struct work_rt {
    struct lock lock; /* guards the list, its threads' priorities and their ends */
    struct work_rt_thread *first;
    uint32_t state;      /* atomic: enum work_rt_state; under the lock, except by producers, from OFF */
    int64_t producer_ns; /* atomic: when a real-time thread last queued a callback */
    int64_t refused_ns;  /* atomic: when real-time scheduling was last refused, 0 = never */
    int64_t looked_ns;   /* time of the last check; written by the worker */
};

/* The scheduling class of a thread that queues callbacks, as that thread read it last.  Written by that thread. */
struct work_producer {
    uint32_t thread; /* id of the thread that read it; valid for no other thread */
    bool realtime;
    int64_t read_ns;
};

#endif

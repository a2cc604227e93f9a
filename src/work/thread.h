/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads of the library: the state of each, how it is created, sleeps and is woken.
 *
 *  sleeping  which thread            woken by
 *  AWAKE     each initially          no thread
 *  PACING    the driver              a thread that has urgent work for it
 *  TICKING   the driver              a thread that has work for it, unless that is an online deadline thread
 *  ASLEEP    the driver              a thread that has work for it; a deadline thread that comes online
 *  ASLEEP    a daemon                a thread that enqueues a queue to it
 */
#ifndef RTRCU_WORK_THREAD_H
#define RTRCU_WORK_THREAD_H

#include "watch/watch.h"

struct work;

/* Ordered by depth of sleep. */
enum work_sleep { WORK_AWAKE, WORK_PACING, WORK_TICKING, WORK_ASLEEP };
enum work_state { WORK_NONE, WORK_STARTING = 1, WORK_RUNNING = 2, WORK_NEEDED = 4 };

/* A thread of the library: whether it exists, how deep it sleeps, and the futex that wakes it.
 *
 *  before     transition                    after
 *  NONE       work_thread_claim()          STARTING                   the caller creates it
 *  STARTING   work_thread_claim()          NEEDED                     another thread needs it meanwhile
 *  NEEDED     work_thread_claim()          NEEDED
 *  RUNNING    work_thread_claim()          RUNNING
 *  NONE       work_thread_hold()           STARTING                   to change its attributes before it is created
 *  STARTING   work_thread_hold()           STARTING
 *  NEEDED     work_thread_hold()           NEEDED
 *  RUNNING    work_thread_hold()           RUNNING
 *  STARTING   work_thread_make()           RUNNING NONE               created; refused: a later need tries again
 *  NEEDED     work_thread_make()           RUNNING NONE
 *  STARTING   work_thread_release()        NONE                       changed
 *  NEEDED     work_thread_release()        NONE                       changed, and its holder creates it now
 *  RUNNING    work_thread_ended()          NONE                       code of the program, or a shutdown, has ended it
 *  STARTING   work_thread_ended()          NONE                       it ended before its creator stored that it runs
 *
 * And by the thread itself alone:
 *
 *  sleeping   transition                    after
 *  AWAKE      work_thread_prepare_sleep()   PACING ASLEEP              a full fence: then it checks for work once more
 *  ASLEEP     work_thread_set_ticking()     TICKING
 *  PACING     work_thread_finish_sleep()    AWAKE
 *  TICKING    work_thread_finish_sleep()    AWAKE
 *  ASLEEP     work_thread_finish_sleep()    AWAKE
 *
 * A fork's child begins anew: see work_thread_after_fork().
 *
 * INV-DR2: a thread is created or ended only while it is STARTING, or runs.
 * INV-DR3: a thread prepares a sleep only while AWAKE, and ticks only while ASLEEP.
 */
struct work_thread {
    uint32_t state;    /* atomic: enum work_state */
    uint32_t event;    /* atomic: futex: counts wake-ups */
    uint32_t sleeping; /* atomic: enum work_sleep; written by the thread itself */
    struct plat_thread plat;
    void *(*body)(void *); /* what it executes; set by its creator */
    void *argument;
    const struct plat_thread_attr *attr; /* its attributes; set by its creator, NULL = work->attr */
    struct work *work;                   /* set by its first creator; from then on the thread is one of work->made */
    struct work_thread *older;           /* atomic: next thread of work->made; written by the first creator */
};

/* Value: description of a thread to be created. */
struct work_thread_spec {
    const char *name;
    void *(*body)(void *); /* NULL: no thread is to be created */
    void *argument;
    int priority;                        /* as plat_thread.priority */
    const struct plat_thread_attr *attr; /* NULL = work->attr at the creation */
};

/* Thread attributes for one pair of a CPU list and a stack size.  Never freed, since a thread that creates a thread may
 * still read them. */
struct work_attr {
    struct work_attr *older;
    struct plat_thread_attr attr;
};

/* Added to work.threads at each change; the low half is the number of threads. */
#define WORK_THREADS_CHANGE (UINT64_C(1) << 32)

/* ---- threads: thread.c ---- */

static inline bool work_thread_runs(const struct work_thread *thread)
{
    return rtrcu_load_acquire(&thread->state) == WORK_RUNNING;
}
/* Does the thread exist, or is it being created? */
static inline bool work_thread_exists(const struct work_thread *thread)
{
    return rtrcu_load_acquire(&thread->state) != WORK_NONE;
}
/* The nice value with which the thread, which exists, began. */
static inline int work_thread_nice(const struct work_thread *thread)
{
    return thread->attr->nice;
}
/* Claim the creation of a thread.  1: the caller must call work_thread_make().  0: the thread exists, or another thread
 * creates it.  -EAGAIN: a thread was refused less than a tick ago.  From a claim to the end of work_thread_make()
 * signals are blocked, with the previous mask in @saved: a handler might fork, and the child has no creator for the
 * thread, or would have two. */
int work_thread_claim(struct work *work, struct work_thread *thread, sigset_t *saved);
/* Create the thread that the caller has claimed.  Returns 0; -errno: no thread can be created now. */
int work_thread_make(struct work *work, struct work_thread *thread, const struct work_thread_spec *start,
                     const sigset_t *saved);
/* Is @thread the calling thread? */
bool work_thread_is_me(const struct work_thread *thread);
/* Called by the thread itself: it ends, and may be created again. */
void work_thread_ended(struct work *work, struct work_thread *thread);
/* Keep other threads from creating @thread.  False: @thread runs, or another thread creates it. */
bool work_thread_hold(struct work_thread *thread);
/* Release a held thread.  True if it was needed meanwhile: the caller must have it created.  In a child that a handler
 * has forked, no thread is held any more. */
bool work_thread_release(struct work_thread *thread);
/* End every library thread, and return when the kernel has no more of them.  No other thread is in a call. */
void work_thread_end_all(struct work *work);
/* Count of wake-ups: the thread reads it before it checks for work, and passes it to its sleep. */
static inline uint32_t work_thread_event(const struct work_thread *thread)
{
    return rtrcu_load_acquire(&thread->event);
}
/* Wake the thread.  The count of wake-ups also ends a sleep that begins afterwards. */
void work_thread_wake(struct work_thread *thread);
void work_thread_sleep(struct work *work, struct work_thread *thread, uint32_t event, int64_t timeout_ns);
/* Does the thread sleep, or is it about to, and how deep?  Call after a full fence. */
static inline enum work_sleep work_thread_sleeps(const struct work_thread *thread)
{
    return (enum work_sleep)rtrcu_load_relaxed(&thread->sleeping);
}
/* Called by the thread: it is about to sleep, and checks for work once more before it does. */
void work_thread_prepare_sleep(struct work_thread *thread, enum work_sleep how);
void work_thread_set_ticking(struct work_thread *thread);
void work_thread_finish_sleep(struct work_thread *thread);
/* In a fork's child: reset the thread's state.  True if it is the forking thread. */
bool work_thread_after_fork(struct work *work, struct work_thread *thread, struct plat_tid old_thread_id);

#endif

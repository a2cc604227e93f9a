/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads of the library: what each keeps of itself, how one is made, sleeps and is woken.
 *
 *  sleeping  of which thread         woken by
 *  AWAKE     each at first           nobody
 *  PACING    the driver              a thread that has something urgent for it
 *  TICKING   the driver              a thread that has something new for it, unless it is an online deadline thread
 *  IDLE      the driver              a thread that has something new for it; a deadline thread that comes online
 *  IDLE      a daemon                a thread that gives it a queue
 */
#ifndef RTRCU_WORK_THREAD_H
#define RTRCU_WORK_THREAD_H

#include "watch/watch.h"

struct work;

/* In the order in which they sleep deeper. */
enum work_sleep { WORK_AWAKE, WORK_PACING, WORK_TICKING, WORK_ASLEEP };
enum work_state { WORK_NONE, WORK_STARTING = 1, WORK_RUNNING = 2, WORK_NEEDED = 4 };

/* A thread of the library: whether it is there, how deep it sleeps, and by what it is woken.
 *
 *  before     transition                    after
 *  NONE       work_thread_claim()          STARTING                   the caller makes it
 *  STARTING   work_thread_claim()          ASKED                      somebody else needs it meanwhile
 *  ASKED      work_thread_claim()          ASKED
 *  RUNNING    work_thread_claim()          RUNNING
 *  NONE       work_thread_hold()           STARTING                   to change what will be made
 *  STARTING   work_thread_hold()           STARTING
 *  ASKED      work_thread_hold()           ASKED
 *  RUNNING    work_thread_hold()           RUNNING
 *  STARTING   work_thread_make()           RUNNING NONE               made; refused: a later need asks again
 *  ASKED      work_thread_make()           RUNNING NONE
 *  STARTING   work_thread_release()            NONE                       changed
 *  ASKED      work_thread_release()            NONE                       changed, and its holder makes it now
 *  RUNNING    work_thread_ended()          NONE                       the program's code has ended it
 *  STARTING   work_thread_ended()          NONE                       before its maker had said that it runs
 *
 * And by itself alone:
 *
 *  sleeping   transition                    after
 *  AWAKE      work_thread_prepare_sleep()      PACING IDLE                a full fence: then it looks once more
 *  IDLE       work_thread_set_ticking()          TICKING
 *  PACING     work_thread_finish_sleep()        AWAKE
 *  TICKING    work_thread_finish_sleep()        AWAKE
 *  IDLE       work_thread_finish_sleep()        AWAKE
 *
 * A fork's child begins anew: see work_thread_after_fork().
 *
 * INV-DR2: a thread is made or ended only while it is STARTING, or runs.
 * INV-DR3: a thread lies down awake, and ticks idle.
 */
struct work_thread {
    uint32_t state;    /* atomic: enum work_state */
    uint32_t event;    /* atomic: futex: counts what wakes it */
    uint32_t sleeping; /* atomic: enum work_sleep; written by itself */
    struct plat_thread plat;
    void *(*body)(void *); /* what it does; by its maker */
    void *argument;
    const struct plat_thread_attr *attr; /* where it begins; by its maker, NULL = where all do now */
};

/* Value: what a thread is made of. */
struct work_thread_spec {
    const char *name;
    void *(*body)(void *); /* NULL: there is nothing to make */
    void *argument;
    int priority;                        /* as plat_thread.priority */
    const struct plat_thread_attr *attr; /* NULL = where all begin now */
};

/* Never freed: a maker of a thread may still look at it.  So there is one of each list of CPUs and size of stacks. */
struct work_attr {
    struct work_attr *older;
    struct plat_thread_attr attr;
};

/* work.threads: one change more; the low half is the number. */
#define WORK_THREADS_CHANGE (UINT64_C(1) << 32)

/* ---- threads: thread.c ---- */

static inline bool work_thread_runs(const struct work_thread *thread)
{
    return rtrcu_load_acquire(&thread->state) == WORK_RUNNING;
}
/* Is it made, or about to be? */
static inline bool work_thread_exists(const struct work_thread *thread)
{
    return rtrcu_load_acquire(&thread->state) != WORK_NONE;
}
/* The nice value where it began; of a thread that has been made. */
static inline int work_thread_nice(const struct work_thread *thread)
{
    return thread->attr->nice;
}
/* 1: the caller makes it.  0: it is there, or somebody is at it.  -EAGAIN: refused less than a tick ago.
 * From a claim to the end of work_thread_make() signals are blocked, @saved is what was: a handler might fork, whose
 * child knows of no maker, and would have two threads where the caller goes on to make one. */
int work_thread_claim(struct work *work, struct work_thread *thread, sigset_t *saved);
/* By who has claimed it: 0; or -errno: there is no room for a thread now. */
int work_thread_make(struct work *work, struct work_thread *thread, const struct work_thread_spec *start,
                     const sigset_t *saved);
/* Is it the calling thread? */
bool work_thread_is_me(const struct work_thread *thread);
/* By the thread: it ends, and may be made again. */
void work_thread_ended(struct work *work, struct work_thread *thread);
/* Keep others from making it; false: it runs, or somebody is at it. */
bool work_thread_hold(struct work_thread *thread);
/* True if it was asked for meanwhile: the caller must have it made.  In the child of a handler that has forked nothing
 * is held any more. */
bool work_thread_release(struct work_thread *thread);
/* How often it has been woken: the thread reads it before it looks for work, and passes it to its sleep. */
static inline uint32_t work_thread_event(const struct work_thread *thread)
{
    return rtrcu_load_acquire(&thread->event);
}
/* The count makes a wake-up that comes before the sleep end it. */
void work_thread_wake(struct work_thread *thread);
void work_thread_sleep(struct work *work, struct work_thread *thread, uint32_t event, int64_t timeout_ns);
/* Does the thread sleep, or is it about to, and how deep?  Behind a full fence. */
static inline enum work_sleep work_thread_sleeps(const struct work_thread *thread)
{
    return (enum work_sleep)rtrcu_load_relaxed(&thread->sleeping);
}
/* By the thread: it is about to sleep, and looks for work once more before it does. */
void work_thread_prepare_sleep(struct work_thread *thread, enum work_sleep how);
void work_thread_set_ticking(struct work_thread *thread);
void work_thread_finish_sleep(struct work_thread *thread);
/* In the child: true if the forking thread is this one. */
bool work_thread_after_fork(struct work *work, struct work_thread *thread, struct plat_tid old_thread_id);

#endif

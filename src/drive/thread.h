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
#ifndef RTRCU_DRIVE_THREAD_H
#define RTRCU_DRIVE_THREAD_H

#include "watch/watch.h"

struct work;

/* In the order in which they sleep deeper. */
enum drive_sleep { DRIVE_AWAKE, DRIVE_PACING, DRIVE_TICKING, DRIVE_IDLE };
enum drive_state { DRIVE_NONE, DRIVE_STARTING = 1, DRIVE_RUNNING = 2, DRIVE_ASKED = 4 };

/* A thread of the library: whether it is there, how deep it sleeps, and by what it is woken.
 *
 *  before     transition                    after
 *  NONE       drive_thread_claim()          STARTING                   the caller makes it
 *  STARTING   drive_thread_claim()          ASKED                      somebody else needs it meanwhile
 *  ASKED      drive_thread_claim()          ASKED
 *  RUNNING    drive_thread_claim()          RUNNING
 *  NONE       drive_thread_hold()           STARTING                   to change what will be made
 *  STARTING   drive_thread_hold()           STARTING
 *  ASKED      drive_thread_hold()           ASKED
 *  RUNNING    drive_thread_hold()           RUNNING
 *  STARTING   drive_thread_make()           RUNNING NONE               made; refused: a later need asks again
 *  ASKED      drive_thread_make()           RUNNING NONE
 *  STARTING   drive_thread_let()            NONE                       changed
 *  ASKED      drive_thread_let()            NONE                       changed, and its holder makes it now
 *  RUNNING    drive_thread_ended()          NONE                       the program's code has ended it
 *  STARTING   drive_thread_ended()          NONE                       before its maker had said that it runs
 *
 * And by itself alone:
 *
 *  sleeping   transition                    after
 *  AWAKE      drive_thread_lies_down()      PACING IDLE                a full fence: then it looks once more
 *  IDLE       drive_thread_ticks()          TICKING
 *  PACING     drive_thread_gets_up()        AWAKE
 *  TICKING    drive_thread_gets_up()        AWAKE
 *  IDLE       drive_thread_gets_up()        AWAKE
 *
 * A fork's child begins anew: see drive_thread_after_fork().
 *
 * INV-DR2: a thread is made or ended only while it is STARTING, or runs.
 * INV-DR3: a thread lies down awake, and ticks idle.
 */
struct drive_thread {
    uint32_t state;    /* atomic: enum drive_state */
    uint32_t event;    /* atomic: futex: counts what wakes it */
    uint32_t sleeping; /* atomic: enum drive_sleep; written by itself */
    struct plat_thread plat;
    void *(*body)(void *); /* what it does; by its maker */
    void *argument;
    const struct plat_home *home; /* where it begins; by its maker, NULL = where all do now */
};

/* Value: what a thread is made of. */
struct drive_thread_spec {
    const char *name;
    void *(*body)(void *); /* NULL: there is nothing to make */
    void *argument;
    int priority;                 /* as plat_thread.priority */
    const struct plat_home *home; /* NULL = where all begin now */
};

/* Never freed: a maker of a thread may still look at it.  So there is one of each list of CPUs and size of stacks. */
struct drive_home {
    struct drive_home *older;
    struct plat_home home;
};

/* work.threads: one change more; the low half is the number. */
#define DRIVE_THREADS_CHANGE (UINT64_C(1) << 32)

/* ---- threads: thread.c ---- */

static inline bool drive_thread_runs(const struct drive_thread *thread)
{
    return rtrcu_load_acquire(&thread->state) == DRIVE_RUNNING;
}
/* Is it made, or about to be? */
static inline bool drive_thread_exists(const struct drive_thread *thread)
{
    return rtrcu_load_acquire(&thread->state) != DRIVE_NONE;
}
/* The nice value where it began; of a thread that has been made. */
static inline int drive_thread_nice(const struct drive_thread *thread)
{
    return thread->home->nice;
}
/* 1: the caller makes it.  0: it is there, or somebody is at it.  -EAGAIN: refused less than a tick ago.
 * From a claim to the end of drive_thread_make() signals are blocked, @saved is what was: a handler might fork, whose
 * child knows of no maker, and would have two threads where the caller goes on to make one. */
int drive_thread_claim(struct work *work, struct drive_thread *thread, sigset_t *saved);
/* By who has claimed it: 0; or -errno: there is no room for a thread now. */
int drive_thread_make(struct work *work, struct drive_thread *thread, const struct drive_thread_spec *start,
                      const sigset_t *saved);
/* Is it the calling thread? */
bool drive_thread_is_me(const struct drive_thread *thread);
/* By the thread: it ends, and may be made again. */
void drive_thread_ended(struct work *work, struct drive_thread *thread);
/* Keep others from making it; false: it runs, or somebody is at it. */
bool drive_thread_hold(struct drive_thread *thread);
/* True if it was asked for meanwhile: the caller must have it made.  In the child of a handler that has forked nothing
 * is held any more. */
bool drive_thread_let(struct drive_thread *thread);
/* How often it has been woken: the thread reads it before it looks for work, and passes it to its sleep. */
static inline uint32_t drive_thread_event(const struct drive_thread *thread)
{
    return rtrcu_load_acquire(&thread->event);
}
/* The count makes a wake-up that comes before the sleep end it. */
void drive_thread_wake(struct drive_thread *thread);
void drive_thread_sleep(struct work *work, struct drive_thread *thread, uint32_t event, int64_t timeout_ns);
/* Does the thread sleep, or is it about to, and how deep?  Behind a full fence. */
static inline enum drive_sleep drive_thread_sleeps(const struct drive_thread *thread)
{
    return (enum drive_sleep)rtrcu_load_relaxed(&thread->sleeping);
}
/* By the thread: it is about to sleep, and looks for work once more before it does. */
void drive_thread_lies_down(struct drive_thread *thread, enum drive_sleep how);
void drive_thread_ticks(struct drive_thread *thread);
void drive_thread_gets_up(struct drive_thread *thread);
/* In the child: true if the forking thread is this one. */
bool drive_thread_after_fork(struct work *work, struct drive_thread *thread, struct plat_tid old_thread_id);

#endif

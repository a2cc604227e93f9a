/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The ranked lock: priority-inheriting; from the rank of the leaf on short, and never held across a callback or an
 * allocation.
 *
 * The rank enum is the lock-order table: a thread takes locks in rising rank only; debug builds check it.  Locks of one
 * rank are held together in two places only: a fork takes all queues locks, and those of adopt/, in the order of their
 * numbers, and a change of configuration takes the normal and then the expedited crank.
 * What a thread holds or is about to take is noted for its signal handlers, which keep away from these ranks.
 * Where the kernel refuses the futex, or cannot serve it, waiters look again and again, without lending their priority.
 * The word is 0 or the owner's thread id; the kernel adds its waiters bit.
 */
#ifndef RTRCU_BASE_LOCK_H
#define RTRCU_BASE_LOCK_H

#include "base/check.h"

enum lock_rank {
    /* Drive: one rcu_barrier() at a time; its holder may run callbacks, which may change the configuration. */
    LOCK_RANK_BARRIER,
    LOCK_RANK_CONFIG, /* api: one change of configuration at a time */
    /* Gp: who turns the crank; held over a step, a heavy fence and a moment of watching included. */
    LOCK_RANK_CRANK,
    LOCK_RANK_QUEUES,  /* callback: the consumer side of a leaf's queues; what a fork holds meanwhile */
    LOCK_RANK_LEAF,    /* reader: a leaf's records */
    LOCK_RANK_TASKS,   /* parked: the tasks that parked on one thread */
    LOCK_RANK_DAEMON,  /* drive: the list of queues that a krcud/N has to serve */
    LOCK_RANK_WORKER,  /* drive: the priority of a worker */
    LOCK_RANK_REPORT,  /* watch: reports that wait to be said */
    LOCK_RANK_SERVERS, /* adopt: a flavour's servers */
    LOCK_RANK_WORDS,   /* adopt: a flavour's words against their owners' exit */
};

struct lock {
    uint32_t word; /* atomic: as PI futexes have it: thread id of the holder, 0 = free; and whether others wait */
    uint32_t rank;
    bool beside; /* under the lock: its holder has held another of this rank since before */
};

void lock_init(struct lock *lock, enum lock_rank rank);
void lock_acquire(struct lock *lock);
/* As lock_acquire(), where one thread holds several of a rank; the one that it took first is released last. */
void lock_acquire_same_rank(struct lock *lock);
bool lock_try(struct lock *lock);
void lock_release(struct lock *lock);
/* Does the calling thread hold it? */
bool lock_is_mine(const struct lock *lock);
/* In a fork's child: it holds none, and has another id.  Returns the old one, nobody = it had not asked for it. */
struct plat_tid lock_after_fork_child(void);
/* Does the calling thread hold, or is it taking, a lock of one of @ranks (bits)? */
static inline bool lock_any_held(uint32_t ranks)
{
    return rtrcu_self.locks_held & ranks;
}
/* After fork, in the child: nobody else is left to hold it. */
void lock_reset(struct lock *lock);

static inline void must_hold(const struct lock *lock)
{
    check(lock_is_mine(lock));
}

/* The calling thread's id, asked for once. */
struct plat_tid lock_thread_id(void);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The ranked lock: priority-inheriting.  Locks of rank LEAF and above are held briefly, and never across a callback or
 * an allocation.
 *
 * The rank enum is the lock-order table: a thread takes locks in rising rank only; debug builds check it.  Locks of one
 * rank are held together in two places only: a fork takes all locks of LOCK_RANK_QUEUES, and those of urcu/, in the
 * order of their numbers, and a change of configuration takes the normal and then the expedited gp lock.
 * Ranks that a thread holds or is about to take are recorded for its signal handlers, which avoid these ranks.
 * If the kernel refuses the futex, or cannot serve it, waiters poll, without boosting the holder.
 * The word is 0 or the owner's thread id; the kernel adds its waiters bit.
 */
#ifndef RTRCU_BASE_LOCK_H
#define RTRCU_BASE_LOCK_H

#include "base/check.h"

/* The ranks, lowest first, with the data that each lock guards and the threads that hold it. */
enum lock_rank {
    /* table: the list of all hash tables, and the resizer's position in it.  Held by the resizer for one batch of
     * moves, briefly by a thread that creates or destroys a table; across a fork. */
    LOCK_RANK_RESIZER,
    /* table: the buckets of one stripe.  Held for one update, with the program's match function, or for one move. */
    LOCK_RANK_STRIPE,
    /* lpm: the prefixes and nodes of one table.  Held for one update. */
    LOCK_RANK_LPM,
    /* serve: one rcu_barrier() at a time.  Held by its caller while it waits; meanwhile it may run callbacks, which may
     * change the configuration. */
    LOCK_RANK_BARRIER,
    /* api: one change of the configuration at a time.  Held by the changing thread until the change is in force. */
    LOCK_RANK_CONFIG,
    /* gp: one grace period of a kind.  Held for one step, including a heavy fence and a moment of spinning, by a thread
     * that waits for the grace period.  Ordinary threads only try to take the lock; real-time threads wait for it. */
    LOCK_RANK_GP,
    /* callback: the consumer side of a leaf's queues.  Held briefly by the driver and by invokers; across a fork. */
    LOCK_RANK_QUEUES,
    /* reader: a leaf's records; a thread's word does not disappear while the lock is held.  Held briefly by scans,
     * reports, exits. */
    LOCK_RANK_LEAF,
    LOCK_RANK_TASKS,   /* parked: tasks parked on one thread.  Held briefly by parking, promotion, a task's last
                          unlock */
    LOCK_RANK_DAEMON,  /* serve: a daemon's list of queues.  Held briefly by the driver and the daemon */
    LOCK_RANK_READY,   /* serve: a thread's ready descriptor.  Held briefly to make it readable or unreadable, and to
                          close it */
    LOCK_RANK_WORKER,  /* work: a worker's priority.  Held briefly by the worker, and by threads that raise it */
    LOCK_RANK_SHARE,   /* work: priorities of driver and daemons.  Held briefly to set them, and by these threads when
                          they start */
    LOCK_RANK_REPORT,  /* watch: reports waiting to be printed.  Held while one is copied */
    LOCK_RANK_SERVERS, /* urcu: a flavour's servers.  Held briefly to create, free or wait for them */
    LOCK_RANK_WORDS,   /* urcu: a flavour's words; its threads do not exit while it is held.  Held briefly by grace
                          periods, exits */
    LOCK_RANK_DOMAINS, /* srcu: the list of domains.  Held by the worker for one step of each; across a fork */
    LOCK_RANK_DOMAIN,  /* srcu: the phase of one domain.  Held for one step, which sums its counters */
};

struct lock {
    uint32_t word; /* atomic: a PI futex: thread id of the holder, 0 = free; and the waiters bit */
    uint32_t rank;
    bool beside; /* under the lock: its holder already held another lock of this rank */
};

void lock_init(struct lock *lock, enum lock_rank rank);
void lock_acquire(struct lock *lock);
/* Like lock_acquire(), for a thread that holds several locks of a rank; the one taken first is released last. */
void lock_acquire_same_rank(struct lock *lock);
bool lock_try(struct lock *lock);
void lock_release(struct lock *lock);
/* Does the calling thread hold the lock? */
bool lock_is_mine(const struct lock *lock);
/* In a fork's child: forget the locks held, and the thread id, which has changed.  Returns the old id; 0: it was never
 * queried. */
struct plat_tid lock_after_fork_child(void);
/* In a torn child: free the lock that its thread waits for, if any; the holder does not exist here.  After the handler
 * the kernel restarts the wait, which finds the lock free, and call_check() ends the child. */
void lock_end_wait(void);
/* Does any thread hold the lock?  A hint, except in a fork's child, whose other threads do not exist. */
static inline bool lock_is_held(const struct lock *lock)
{
    return rtrcu_load_relaxed(&lock->word) != 0;
}
/* Does the calling thread hold, or is it taking, a lock of one of @ranks (bits)? */
static inline bool lock_any_held(uint32_t ranks)
{
    return rtrcu_self.locks_held & ranks;
}
/* In a fork's child: free the lock, since no thread exists that could hold it. */
void lock_reset(struct lock *lock);
/* Release the lock if the calling thread holds it.  In a child that a callback forked, lock_reset() has already freed
 * it. */
void lock_release_if_mine(struct lock *lock);

static inline void must_hold(const struct lock *lock)
{
    check(lock_is_mine(lock));
}

/* The calling thread's id, queried once. */
uint32_t lock_thread_number(void);
/* Inline, since a struct returned by a call is stored by that call, whose stores the explorer does not instrument. */
static inline struct plat_tid lock_thread_id(void)
{
    return (struct plat_tid){lock_thread_number()};
}

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The ranked lock: priority-inheriting; from the rank of the leaf on short, and never held across a callback or an
 * allocation.
 *
 * The rank enum is the lock-order table: a thread takes locks in rising rank only; debug builds check it.  Locks of one
 * rank are held together in two places only: a fork takes all queues locks, and those of urcu/, in the order of their
 * numbers, and a change of configuration takes the normal and then the expedited crank.
 * What a thread holds or is about to take is noted for its signal handlers, which keep away from these ranks.
 * Where the kernel refuses the futex, or cannot serve it, waiters look again and again, without boosting the holder.
 * The word is 0 or the owner's thread id; the kernel adds its waiters bit.
 */
#ifndef RTRCU_BASE_LOCK_H
#define RTRCU_BASE_LOCK_H

#include "base/check.h"

/* What each lock guards, and who holds it. */
enum lock_rank {
    /* Drive: one rcu_barrier() at a time.  Its caller, while it waits; it may run callbacks meanwhile, which may change
     * the configuration. */
    LOCK_RANK_BARRIER,
    /* Api: one change of the configuration at a time.  Held by the thread that changes it, until the change is in
     * force. */
    LOCK_RANK_CONFIG,
    /* Gp: one grace period of a kind.  Held by a thread that waits for it, over one step, with a heavy fence and a
     * moment of watching; ordinary threads only try, real-time threads wait for the lock. */
    LOCK_RANK_GP,
    /* Callback: the consumer side of a leaf's queues.  The driver and who runs callbacks, shortly; a fork. */
    LOCK_RANK_QUEUES,
    /* Reader: a leaf's records, and its threads' words against their owners' exit.  Scans, reports, exits, shortly. */
    LOCK_RANK_LEAF,
    LOCK_RANK_TASKS,   /* parked: tasks that parked on one thread.  Parking, promotion, a task's last unlock, shortly */
    LOCK_RANK_DAEMON,  /* drive: the list of queues that a krcud/N has to serve.  The driver and the daemon, shortly */
    LOCK_RANK_WORKER,  /* drive: the priority of a worker.  The worker, and who lifts it, shortly */
    LOCK_RANK_REPORT,  /* watch: reports that wait to be said.  To gather one or say it, while it is copied */
    LOCK_RANK_SERVERS, /* adopt: a flavour's servers.  To make, free or wait for them, shortly */
    LOCK_RANK_WORDS,   /* adopt: a flavour's words against their owners' exit.  Its grace period, exits, shortly */
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
/* Release one that lock_reset() may have taken from the calling thread, in the child of a callback that it ran: then
 * nothing is done. */
void lock_release_if_mine(struct lock *lock);

static inline void must_hold(const struct lock *lock)
{
    check(lock_is_mine(lock));
}

/* The calling thread's id, asked for once. */
uint32_t lock_thread_number(void);
/* Inline, since a struct that a call returns is stored by the call, where the compiler instruments no store for those
 * who watch the explored source. */
static inline struct plat_tid lock_thread_id(void)
{
    return (struct plat_tid){lock_thread_number()};
}

#endif

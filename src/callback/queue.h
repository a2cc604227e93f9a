/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The callback queue of one thread: a wait-free inbox and a segmented list after it, as plain values.
 *
 *   inbox     queued by the owner and not yet collected; several producers (the owner and its signal handlers), one
 *             consumer at a time (under the queues lock)
 *   waiting   two segments, each with the cookie of the grace period it waits for; at most two cookies are open at a
 *             time: the grace period in progress and the next
 *   ready     callbacks whose grace period is over
 *   batch     taken by an invoker, in order; callbacks that a budget leaves stay here, at the head
 *
 * Segments have no counts, since counting would touch cold heads.  Instead callbacks are numbered when queued:
 * `enqueued` numbers have been assigned, and `invoked` callbacks have returned.  A queue is invoked in order, so
 * callback number n has returned when invoked >= n.
 *
 * INV-CB1: invoked <= enqueued.
 * INV-CB2: the cookie of an empty waiting segment is undefined; if no waiting segment is empty, cookie[0] is before
 * cookie[1].
 */
#ifndef RTRCU_CALLBACK_QUEUE_H
#define RTRCU_CALLBACK_QUEUE_H

#include <rtrcu/rcu.h>

#include "base/base.h"

/* A chain of heads from first to last; a link between them may still be unfinished (NULL). */
struct cb_chain {
    struct rcu_head *first; /* atomic while a head is removed, for a fork's child; NULL: empty */
    struct rcu_head *last;
};

struct cb_queue {
    /* Written by the owner (and its signal handlers) at every enqueue; read by consumers. */
    struct rcu_head *tail;      /* atomic: exchanged by producers and consumer */
    struct rcu_head stub;       /* atomic: stub.next: oldest head of the inbox */
    struct rcu_head *enqueuing; /* atomic while its owner exists: the head with an unfinished link, or NULL; for fork */
    uint64_t enqueued;          /* atomic: numbers assigned */
    uint64_t check_at;          /* atomic: number at which the owner checks the limits again */

    /* Consumer side: under the queues lock, except batch (claim) and invoked (atomic). */
    struct cb_chain waiting[2] __attribute__((aligned(BASE_CACHE_LINE)));
    uint64_t cookie[2];
    struct cb_chain ready;
    uint32_t claim;           /* atomic: thread id of the invoker, 0 = none, CB_CLAIM_WANTED; guards batch */
    uint32_t has_ready;       /* atomic hint: ready or batch is not empty */
    struct cb_chain batch;    /* owned by the claim's holder */
    struct rcu_head *running; /* atomic: written by the claim's owner: the head it is about to run, or runs; for fork */
    rcu_callback_t function;  /* atomic: function of the callback that runs, or ran last; for reports */
    uint64_t started;         /* atomic for others: written by the claim's owner: callbacks begun; for fork */
    uint64_t invoked;         /* atomic for others: written by the claim's owner, read by all threads */
    uint32_t cost_ns;         /* atomic: running estimate of a callback's cost; written by the claim's owner */
    uint32_t raised;          /* atomic: 1 = batches have no count limit: set when the backlog exceeds qhimark, cleared
                               * at qlowmark; written by the invoker */
    uint32_t cut;             /* atomic: the owner's last batch ended at its deadline; written by the claim's owner */
    uint64_t barrier_goal;    /* rcu_barrier() waits for this number; under the barrier lock */
};

/* Bit of a claim: another thread has found the claim, so the driver must be notified when the claim ends. */
#define CB_CLAIM_WANTED UINT32_C(0x80000000)

/* The thread that holds @claim. */
static inline struct plat_tid cbqueue_claimer(uint32_t claim)
{
    return (struct plat_tid){claim & ~CB_CLAIM_WANTED};
}

void cbqueue_init(struct cb_queue *queue);

/* The producer: the owner, or any thread for the shared record's queue. */
enum cb_producer { CB_OWNER, CB_ANYBODY };

/* Number and append @head; true if the inbox was empty.  Wait-free. */
bool cbqueue_push(struct cb_queue *queue, struct rcu_head *head, enum cb_producer producer);

/* Take the whole inbox.  An empty chain if it is empty, or if the first link is unfinished. */
struct cb_chain cbqueue_take_inbox(struct cb_queue *queue);

/* Remove the first head.  NULL: empty, or the link after it is unfinished (try again later). */
struct rcu_head *cbqueue_pop(struct cb_chain *chain);

/* Has no thread appended a head since the inbox was taken?  The caller has issued a full fence: a thread that appends
 * exchanges the tail. */
static inline bool cbqueue_inbox_is_empty(const struct cb_queue *queue)
{
    return rtrcu_load_acquire(&queue->tail) == &queue->stub;
}
static inline bool cbchain_is_empty(const struct cb_chain *chain)
{
    return !chain->first;
}
/* The head that the next pop returns; NULL: the chain is empty. */
static inline const struct rcu_head *cbchain_first(const struct cb_chain *chain)
{
    return chain->first;
}
/* Number of callbacks queued so far. */
static inline uint64_t cbqueue_enqueued(const struct cb_queue *queue)
{
    return rtrcu_load_relaxed(&queue->enqueued);
}

/* Append @tail to @chain; the link between them is complete on return. */
void cbqueue_join(struct cb_chain *chain, struct cb_chain tail);

/* Put @chain into the segment of @cookie. */
void cbqueue_wait(struct cb_queue *queue, struct cb_chain chain, uint64_t cookie);

/* Move the segments whose cookie @seq has reached to ready.  True if there were any. */
bool cbqueue_advance(struct cb_queue *queue, uint64_t seq);

/* In a fork's child, for the queue of a thread that does not exist: complete the link that the thread left
 * open.  False: a head after that link cannot be found. */
bool cbqueue_repair(struct cb_queue *queue);
/* As cbqueue_repair(), for a chain with several producers: the chain ends before an unfinished link. */
void cbchain_repair(struct cb_chain *chain);

/* Number of heads, in a chain without a missing link. */
uint64_t cbchain_count(const struct cb_chain *chain);
/* In a fork's child, for a queue with only an inbox: set `enqueued` to @invoked, plus the number of heads in the inbox,
 * plus @more.  Returns how many more numbers had been assigned. */
uint64_t cbqueue_recount_after_fork(struct cb_queue *queue, uint64_t invoked, uint64_t more);

static inline bool cbqueue_is_waiting(const struct cb_queue *queue)
{
    return queue->waiting[0].first || queue->waiting[1].first;
}

static inline uint64_t cbqueue_pending(const struct cb_queue *queue)
{
    uint64_t invoked = rtrcu_load_acquire(&queue->invoked); /* loaded first: not above `enqueued` */
    return rtrcu_load_relaxed(&queue->enqueued) - invoked;
}

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The callback queue of one thread: a wait-free inbox and a segmented list behind it, as plain values.
 *
 *   inbox     what the owner has queued and nobody has looked at; many producers (the owner and its signal handlers),
 *             one consumer at a time (under the queues lock)
 *   waiting   two segments, each with the cookie of the grace period it waits for; at most two cookies are ever open:
 *             the grace period under way and the next
 *   ready     its grace period is over
 *   batch     taken by an invoker, in order; what a budget leaves stays here, at the head
 *
 * No counts by segment: counting would touch cold heads.  Callbacks are numbered by enqueue instead: `enqueued` numbers
 * have been given out and `invoked` callbacks have returned, and a queue is invoked in order, so callback number n has
 * returned when invoked >= n.
 *
 * INV-CB1: invoked <= enqueued.
 * INV-CB2: while a waiting segment is empty its cookie means nothing; both full: cookie[0] before cookie[1].
 */
#ifndef RTRCU_CALLBACK_QUEUE_H
#define RTRCU_CALLBACK_QUEUE_H

#include <rtrcu/rcu.h>

#include "base/base.h"

/* A chain of heads from first to last; a link between them may still be unfinished (NULL). */
struct cb_chain {
    struct rcu_head *first; /* atomic while a head is taken off, for a fork's child; NULL: empty */
    struct rcu_head *last;
};

struct cb_queue {
    /* Written by the owner (and its signal handlers) at every enqueue; read by consumers. */
    struct rcu_head *tail;      /* atomic: exchanged by producers and consumer */
    struct rcu_head stub;       /* atomic: stub.next: oldest of the inbox */
    struct rcu_head *enqueuing; /* atomic while its owner lives: the head with an unfinished link, or NULL; for fork */
    uint64_t enqueued;          /* atomic: numbers given out */
    uint64_t check_at;          /* atomic: enqueue number at which the owner looks at the limits again */

    /* Consumer side: under the queues lock, but for batch (claim) and invoked (atomic). */
    struct cb_chain waiting[2] __attribute__((aligned(BASE_CACHE_LINE)));
    uint64_t cookie[2];
    struct cb_chain ready;
    uint32_t claim;           /* atomic: thread id of the invoker, 0 = nobody, CB_CLAIM_WANTED; guards batch */
    uint32_t has_ready;       /* atomic hint: ready or batch is not empty */
    struct cb_chain batch;    /* the claim's owner */
    struct rcu_head *running; /* atomic: the claim's owner: the head it is about to run, or runs; for fork */
    rcu_callback_t function;  /* atomic: of the callback that it runs, or ran last; for reports */
    uint64_t started;         /* atomic for others: the claim's owner: callbacks begun; for fork */
    uint64_t invoked;         /* atomic for others: written by the claim's owner, read by everybody */
    uint32_t cost_ns;         /* atomic: running estimate of a callback's cost; written by the claim's owner */
    uint32_t raised;          /* atomic: from qhimark until the backlog is at qlowmark; written by the invoker */
    uint32_t cut;             /* atomic: the owner's last batch ended at its deadline; written by the claim's owner */
    uint64_t barrier_goal;    /* rcu_barrier() waits for this number; under the barrier lock */
};

/* In a claim: somebody has found it, and its end is to be told. */
#define CB_CLAIM_WANTED UINT32_C(0x80000000)

/* The thread that has @claim. */
static inline struct plat_tid cbqueue_claimer(uint32_t claim)
{
    return (struct plat_tid){claim & ~CB_CLAIM_WANTED};
}

void cbqueue_init(struct cb_queue *queue);

/* Who appends: the owner, or any thread to the orphans' queue. */
enum cb_producer { CB_OWNER, CB_ANYBODY };

/* Number and append @head; true if the inbox was empty.  Wait-free. */
bool cbqueue_push(struct cb_queue *queue, struct rcu_head *head, enum cb_producer producer);

/* Take the whole inbox.  An empty chain if there is nothing, or if the first link is unfinished. */
struct cb_chain cbqueue_take_inbox(struct cb_queue *queue);

/* Remove the first head.  NULL: empty, or the link behind it is unfinished (come back later). */
struct rcu_head *cbqueue_pop(struct cb_chain *chain);

/* Has no thread appended anything since the inbox was taken?  Behind a full fence: a thread that appends exchanges the
 * tail. */
static inline bool cbqueue_inbox_is_empty(const struct cb_queue *queue)
{
    return rtrcu_load_acquire(&queue->tail) == &queue->stub;
}
static inline bool cbchain_is_empty(const struct cb_chain *chain)
{
    return !chain->first;
}
/* The next to be popped; NULL: there is none. */
static inline const struct rcu_head *cbchain_first(const struct cb_chain *chain)
{
    return chain->first;
}
/* Numbers given out. */
static inline uint64_t cbqueue_enqueued(const struct cb_queue *queue)
{
    return rtrcu_load_relaxed(&queue->enqueued);
}

/* Append @tail to @chain; the one link this writes is finished at once. */
void cbqueue_join(struct cb_chain *chain, struct cb_chain tail);

/* Put @chain into the segment of @cookie. */
void cbqueue_wait(struct cb_queue *queue, struct cb_chain chain, uint64_t cookie);

/* Move the segments whose cookie @seq has reached to ready.  True if ready got something. */
bool cbqueue_advance(struct cb_queue *queue, uint64_t seq);

/* In a fork's child, for the queue of a thread that is not there: finish the link it left open.  False if one of the
 * heads behind the break cannot be found. */
bool cbqueue_repair(struct cb_queue *queue);
/* Likewise for a chain whose producers were several: it ends before a link that is missing. */
void cbchain_repair(struct cb_chain *chain);

/* Heads, in a chain without a link missing. */
uint64_t cbchain_count(const struct cb_chain *chain);
/* In a fork's child, for a queue that has an inbox alone: it has given out @invoked numbers, one for each head of the
 * inbox, and @more.  Returns how many others it had given out. */
uint64_t cbqueue_recount_after_fork(struct cb_queue *queue, uint64_t invoked, uint64_t more);

static inline bool cbqueue_is_waiting(const struct cb_queue *queue)
{
    return queue->waiting[0].first || queue->waiting[1].first;
}

static inline uint64_t cbqueue_pending(const struct cb_queue *queue)
{
    uint64_t invoked = rtrcu_load_acquire(&queue->invoked); /* first: never above what enqueued says */
    return rtrcu_load_relaxed(&queue->enqueued) - invoked;
}

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The callback queue: wait-free push by exchange of the tail, whole-chain take, segments by cookie.
 *
 * tested by: test/unit/callback/queue.cc
 */
#include "callback/queue.h"

void cbqueue_init(struct cb_queue *queue)
{
    *queue = (struct cb_queue){.tail = &queue->stub};
}

/* [O5] Producer half; the consumer's half is in cbqueue_take_inbox().
 *  - Our exchange first:  the consumer's chain ends at our head or after it, and the consumer sees our earlier stores;
 *  - The consumer's exchange first:  we find the stub and start a new inbox, and a later chain contains our head.
 * Forbidden: the consumer has our head AND does not see our stores from before the enqueue. */
bool cbqueue_push(struct cb_queue *queue, struct rcu_head *head, enum cb_producer producer)
{
    bool owner = producer == CB_OWNER;
    struct rcu_head *interrupted = owner ? rtrcu_load_relaxed(&queue->enqueuing) : NULL;

    rtrcu_store_relaxed(&head->next, NULL);
    if (owner) {
        rtrcu_store_relaxed(&queue->enqueuing, head); /* a fork's child may find the link open, and completes it */
        rtrcu_count_owner(&queue->enqueued);
    } else {
        rtrcu_fetch_add(&queue->enqueued, 1);
    }

    rtrcu_tsan_release(head);
    struct rcu_head *before = rtrcu_exchange(&queue->tail, head);
    rtrcu_store_release(&before->next, head);

    if (owner)
        rtrcu_store_release(&queue->enqueuing, interrupted);
    return before == &queue->stub;
}

struct cb_chain cbqueue_take_inbox(struct cb_queue *queue)
{
    struct cb_chain chain = {NULL, NULL};
    struct rcu_head *first = rtrcu_load_acquire(&queue->stub.next);
    if (!first)
        return chain;

    rtrcu_store_relaxed(&queue->stub.next, NULL);
    chain.last = rtrcu_exchange(&queue->tail, &queue->stub); /* [O5] */
    chain.first = first;
    return chain;
}

struct rcu_head *cbqueue_pop(struct cb_chain *chain)
{
    struct rcu_head *head = chain->first;
    if (!head)
        return NULL;

    struct rcu_head *next = head == chain->last ? NULL : rtrcu_load_acquire(&head->next);
    if (!next && head != chain->last)
        return NULL; /* the producer has exchanged the tail, and not stored the link yet */

    rtrcu_store_relaxed(&chain->first,
                        next); /* one store, so a fork's child finds the head either in the chain or removed */
    rtrcu_tsan_acquire(head);
    return head;
}

void cbqueue_join(struct cb_chain *chain, struct cb_chain tail)
{
    if (!tail.first)
        return;
    if (chain->first)
        rtrcu_store_release(&chain->last->next, tail.first);
    else
        chain->first = tail.first;
    chain->last = tail.last;
}

void cbqueue_wait(struct cb_queue *queue, struct cb_chain chain, uint64_t cookie)
{
    if (!chain.first)
        return;

    /* If gp_try_immediate() fails, it restores the earlier sequence number, so a cookie taken later may be lower. */
    int last = queue->waiting[1].first ? 1 : 0;
    if (queue->waiting[last].first && seq_before(cookie, queue->cookie[last]))
        cookie = queue->cookie[last];

    int segment = queue->waiting[0].first && queue->cookie[0] != cookie ? 1 : 0;
    cbqueue_join(&queue->waiting[segment], chain);
    queue->cookie[segment] = cookie;
    invariant("INV-CB2", segment == 0 || !queue->waiting[0].first || seq_before(queue->cookie[0], cookie));
}

bool cbqueue_advance(struct cb_queue *queue, uint64_t seq)
{
    bool moved = false;

    for (int segment = 0; segment < 2; segment++) {
        if (!queue->waiting[segment].first)
            continue;
        if (!seq_reached(seq, queue->cookie[segment]))
            break;
        cbqueue_join(&queue->ready, queue->waiting[segment]);
        queue->waiting[segment] = (struct cb_chain){NULL, NULL};
        moved = true;
    }

    if (!queue->waiting[0].first && queue->waiting[1].first) {
        queue->waiting[0] = queue->waiting[1];
        queue->cookie[0] = queue->cookie[1];
        queue->waiting[1] = (struct cb_chain){NULL, NULL};
    }

    return moved;
}

/* Complete the first open link between @first and *last with @missing.  True if it did.  If an open link remains, the
 * chain ends there: *last is the head before that link, and *reached is false. */
static bool repair_links(struct rcu_head *first, struct rcu_head **last, struct rcu_head *missing, bool *reached)
{
    bool mended = false;
    for (struct rcu_head *at = first; at != *last; at = at->next) {
        if (at->next)
            continue;
        if (mended || !missing) {
            *reached = false;
            *last = at;
            return mended;
        }

        at->next = missing;
        mended = true;
    }

    return mended;
}

bool cbqueue_repair(struct cb_queue *queue)
{
    struct cb_chain *chains[] = {&queue->batch, &queue->ready, &queue->waiting[0], &queue->waiting[1]};
    bool reached = true;
    struct rcu_head *missing = queue->enqueuing;

    for (size_t i = 0; i < sizeof(chains) / sizeof(chains[0]); i++) {
        if (chains[i]->first && repair_links(chains[i]->first, &chains[i]->last, missing, &reached))
            missing = NULL; /* used: a thread leaves at most one link open */
    }

    repair_links(&queue->stub, &queue->tail, missing, &reached);
    queue->enqueuing = NULL;
    return reached;
}

void cbchain_repair(struct cb_chain *chain)
{
    bool reached = true;
    if (chain->first)
        repair_links(chain->first, &chain->last, NULL, &reached);
}

uint64_t cbchain_count(const struct cb_chain *chain)
{
    uint64_t count = 0;
    for (const struct rcu_head *at = chain->first; at; at = at == chain->last ? NULL : at->next)
        count++;
    return count;
}

uint64_t cbqueue_recount_after_fork(struct cb_queue *queue, uint64_t invoked, uint64_t more)
{
    struct cb_chain inbox = {queue->stub.next, queue->tail};
    uint64_t given_out = queue->enqueued;
    queue->enqueued = invoked + cbchain_count(&inbox) + more;
    return given_out - queue->enqueued;
}

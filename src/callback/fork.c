/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Repair of queues in a fork's child.  No callback is half moved between stages, and the child keeps queued
 * callbacks.  Links that a missing thread left open are finished; batches in progress in missing threads return to the
 * head of their queue; and a callback that one of these threads had begun is neither run again nor waited for.
 *
 * tested by: test/unit/callback/fork.cc
 */
#include <string.h>

#include "callback/callback.h"

void callback_before_fork(struct callback *cb)
{
    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_leaf(cb->registry, leaf));)
        lock_acquire_same_rank(&callback_leaf(leaf)->lock);
}

/* Releases the locks.  A leaf that a thread has linked since callback_before_fork() was not locked. */
void callback_after_fork_parent(struct callback *cb)
{
    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_leaf(cb->registry, leaf));) {
        if (lock_is_mine(&callback_leaf(leaf)->lock))
            lock_release(&callback_leaf(leaf)->lock);
    }
}

/* End the claim on @record's batch of a thread that the child does not have. */
static void abandon_claim_after_fork(struct callback *cb, struct reader_record *record)
{
    struct cb_queue *queue = &callback_slot(record)->queue;
    if (queue->running == queue->batch.first) /* the callback had not begun: it is still in the batch */
        queue->started = queue->invoked;

    counter_add_alone(&cb->lost_at_fork, queue->started - queue->invoked + callback_slot(record)->free_started -
                                             callback_slot(record)->free_done);
    queue->invoked = queue->started; /* the callback had begun: it is neither run again nor waited for */
    callback_slot(record)->free_done = callback_slot(record)->free_started;

    callback_free_drop_spent(record);
    queue->claim = 0;
}

static void count_chain(const struct reader_record *record, struct cb_chain chain, uint64_t *heads, uint64_t *pointers)
{
    for (const struct rcu_head *at = chain.first; at; at = at == chain.last ? NULL : at->next) {
        if (callback_is_free_block(at->func))
            *pointers += callback_free_count(record, at);
        else
            ++*heads;
    }
}

static uint64_t not_above(uint64_t number, uint64_t last)
{
    return (int64_t)(number - last) > 0 ? last : number;
}

/* The missing thread may have assigned a number to a head that is in no chain, or to a pointer that is in no block:
 * recompute the numbers from the heads that exist, and count the difference. */
static void recount_after_fork(struct callback *cb, struct reader_record *record)
{
    struct cb_queue *queue = &callback_slot(record)->queue;
    uint64_t heads = 0, pointers = callback_free_count_open(record);
    struct cb_chain inbox = {queue->stub.next, queue->tail};
    struct cb_chain chains[] = {queue->batch, queue->ready, queue->waiting[0], queue->waiting[1], inbox};

    for (size_t i = 0; i < sizeof(chains) / sizeof(chains[0]); i++)
        count_chain(record, chains[i], &heads, &pointers);

    /* Count the callback in which the fork happened too: it has left its chain, but has not returned. */
    heads += queue->started - queue->invoked;
    pointers += callback_slot(record)->free_started - callback_slot(record)->free_done;

    counter_add_alone(&cb->lost_at_fork, queue->enqueued - queue->invoked - heads);
    counter_add_alone(&cb->lost_at_fork,
                      callback_slot(record)->free_queued - callback_slot(record)->free_done - pointers);

    queue->enqueued = queue->invoked + heads;
    callback_slot(record)->free_queued = callback_slot(record)->free_done + pointers;

    /* The forking thread may be inside rcu_barrier(): it must not wait for a number that no callback has. */
    queue->barrier_goal = not_above(queue->barrier_goal, queue->enqueued);
    callback_slot(record)->free_goal = not_above(callback_slot(record)->free_goal, callback_slot(record)->free_queued);
}

/* Give all waiting callbacks of @queue one new cookie.  They were queued before the fork, so one grace period of the
 * child is enough; the parent's cookies may be later than any that the child will assign. */
static void wait_anew_after_fork(struct callback *cb, struct cb_queue *queue)
{
    struct cb_chain waiting = queue->waiting[0];
    cbqueue_join(&waiting, queue->waiting[1]);
    queue->waiting[0] = queue->waiting[1] = (struct cb_chain){NULL, NULL};
    if (!waiting.first)
        return;

    uint64_t cookie = gp_snap(cb->gp, GP_NORMAL);
    cbqueue_wait(queue, waiting, cookie);
    gp_request(cb->gp, GP_NORMAL, cookie);
}

static void repair_after_fork(struct callback *cb, struct reader_record *record, struct plat_tid old_thread_id)
{
    struct cb_queue *queue = &callback_slot(record)->queue;
    bool own = record == reader_self();

    if (!own) {
        (void)cbqueue_repair(queue); /* heads that are lost are counted below */
        callback_free_repair(record);
    }

    if (plat_tid_is(cbqueue_claimer(queue->claim), old_thread_id) && queue->claim != 0)
        queue->claim = lock_thread_number(); /* the fork happened inside a callback: the batch continues */
    else if (queue->claim != 0)
        abandon_claim_after_fork(cb, record);

    if (!own)
        recount_after_fork(cb, record);
    wait_anew_after_fork(cb, queue);

    callback_check_again(record); /* the next thread to queue takes the slow path, which creates the child's driver */

    if (queue->batch.first || queue->ready.first)
        queue->has_ready = 1;
    if (queue->stub.next || callback_slot(record)->free_block)
        callback_leaf(reader_leaf_of(record))->dirty |= reader_bit(record);
    if (queue->has_ready || cbqueue_is_waiting(queue))
        callback_leaf(reader_leaf_of(record))->waiting |= reader_bit(record);
    callback_leaf(reader_leaf_of(record))->ready &= ~reader_bit(record);
}

/* Repair the queues of a leaf.  No thread uses the queue of a free slot, but a daemon of the parent may have held its
 * claim. */
static void repair_leaf_after_fork(struct callback *cb, struct reader_leaf *leaf, struct plat_tid old_thread_id)
{
    struct reader_record *record;
    for (uint32_t left = ~reader_used(leaf); (record = reader_next(leaf, &left));)
        callback_slot(record)->queue.claim = 0;

    for (uint32_t left = reader_used(leaf); (record = reader_next(leaf, &left));) {
        repair_after_fork(cb, record, old_thread_id);
        callback_release_slot(record);
    }

    if (callback_leaf(leaf)->dirty)
        callback_mark(&cb->dirty_leaves, leaf);
    if (callback_busy_slots(leaf))
        callback_mark(&cb->busy_leaves, leaf);
}

void callback_after_fork_child(struct callback *cb, struct plat_tid old_thread_id)
{
    tally_reset(&cb->barriers);
    complaint_box_forget(&cb->message);
    memset(cb->rt_awake, 0, sizeof(cb->rt_awake));
    if (rtrcu_self.rt_awake_cpu)
        cb->rt_awake[rtrcu_self.rt_awake_cpu - 1] = 1;

    callback_marks_forget(&cb->dirty_leaves, reader_leaf_count(cb->registry));
    callback_marks_forget(&cb->busy_leaves, reader_leaf_count(cb->registry));

    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_leaf(cb->registry, leaf));) {
        lock_reset(&callback_leaf(leaf)->lock);
        reader_lock(leaf);
        repair_leaf_after_fork(cb, leaf, old_thread_id);
        reader_unlock(leaf);
    }

    callback_bound_after_fork_child(cb);
}

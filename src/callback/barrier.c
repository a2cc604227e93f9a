/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Goals of rcu_barrier(): the number of the last callback of every queue, and whether that many have returned.
 *
 * A queue is invoked in order, so "invoked >= goal" means that all callbacks up to the goal have returned.  Callbacks
 * queued later have higher numbers and do not prolong the wait, even if callbacks keep queueing more.
 * tested by: test/unit/callback/callback.cc
 */
#include "callback/callback.h"

void callback_barrier_begin(struct callback *cb)
{
    tally_raise(&cb->barriers);
}

void callback_barrier_end(struct callback *cb)
{
    (void)tally_lower(&cb->barriers);
}

void callback_barrier_set(struct callback *cb)
{
    rtrcu_fence_full();
    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_leaf(cb->registry, leaf));) {
        for (uint32_t i = 0; i < READER_FANOUT; i++) {
            struct callback_slot *slot = &callback_leaf(leaf)->slot[i];
            slot->queue.barrier_goal = rtrcu_load_acquire(&slot->queue.enqueued);
            slot->free_goal = rtrcu_load_acquire(&slot->free_queued);
        }
    }
}

static bool slot_reached(const struct callback_slot *slot)
{
    return (int64_t)(rtrcu_load_acquire(&slot->queue.invoked) - slot->queue.barrier_goal) >= 0 &&
           (int64_t)(rtrcu_load_acquire(&slot->free_done) - slot->free_goal) >= 0;
}

uint64_t callback_barrier_left(const struct reader_record *record)
{
    const struct callback_slot *slot = callback_slot(record);
    int64_t callbacks = (int64_t)(slot->queue.barrier_goal - rtrcu_load_acquire(&slot->queue.invoked));
    int64_t frees = (int64_t)(slot->free_goal - rtrcu_load_acquire(&slot->free_done));
    return (uint64_t)(callbacks > 0 ? callbacks : 0) + (uint64_t)(frees > 0 ? frees : 0);
}

void callback_barrier_read(const struct reader_record *record, struct callback_barrier_view *view)
{
    const struct cb_queue *queue = &callback_slot(record)->queue;
    view->left = callback_barrier_left(record);
    view->invoker = cbqueue_claimer(rtrcu_load_acquire(&queue->claim));
    view->running = plat_tid_is_nobody(view->invoker) ? 0 : (uintptr_t)rtrcu_load_relaxed(&queue->function);
}

bool callback_barrier_reached(struct callback *cb)
{
    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_leaf(cb->registry, leaf));) {
        /* Slots that are free now are skipped: their queues are empty.  A slot taken since callback_barrier_set() has
         * an older goal, which is reached. */
        struct reader_record *record;
        for (uint32_t left = reader_used(leaf); (record = reader_next(leaf, &left));) {
            if (!slot_reached(callback_slot(record)))
                return false;
        }
    }

    rtrcu_fence_full();
    return true;
}

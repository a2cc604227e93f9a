/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* rcu_barrier()'s goals: the number of the last callback of every queue, and whether that many have returned.
 *
 * A queue is invoked in order, so "invoked >= goal" says that each of them has returned.  Callbacks queued later have
 * higher numbers and do not prolong the wait, even if callbacks queue them for ever.
 * tested by: test/unit/callback/callback.cc
 */
#include "callback/callback.h"

static uint32_t used_slots(const struct reader_leaf *leaf)
{
    return leaf ? rtrcu_load_acquire(&leaf->used) : 0;
}

void callback_barrier_set(struct callback *cb)
{
    rtrcu_fence_full();
    for (uint32_t i = 0; i < reader_leaf_count(cb->gp->registry); i++) {
        struct reader_leaf *leaf = reader_leaf_at(cb->gp->registry, i);
        for (uint32_t slot = 0; leaf && slot < READER_FANOUT; slot++) {
            struct reader_record *record = &leaf->records[slot];
            record->queue.barrier_goal = rtrcu_load_acquire(&record->queue.enqueued);
            record->free_goal = rtrcu_load_acquire(&record->free_queued);
        }
    }
}

static bool record_reached(const struct reader_record *record)
{
    return (int64_t)(rtrcu_load_acquire(&record->queue.invoked) - record->queue.barrier_goal) >= 0 &&
           (int64_t)(rtrcu_load_acquire(&record->free_done) - record->free_goal) >= 0;
}

uint64_t callback_barrier_left(const struct reader_record *record)
{
    int64_t callbacks = (int64_t)(record->queue.barrier_goal - rtrcu_load_acquire(&record->queue.invoked));
    int64_t frees = (int64_t)(record->free_goal - rtrcu_load_acquire(&record->free_done));
    return (uint64_t)(callbacks > 0 ? callbacks : 0) + (uint64_t)(frees > 0 ? frees : 0);
}

bool callback_barrier_reached(struct callback *cb)
{
    for (uint32_t i = 0; i < reader_leaf_count(cb->gp->registry); i++) {
        struct reader_leaf *leaf = reader_leaf_at(cb->gp->registry, i);
        /* A free slot's queue is empty; a slot taken since has a goal of before, which is reached. */
        for (uint32_t left = used_slots(leaf); left; left &= left - 1) {
            if (!record_reached(&leaf->records[__builtin_ctz(left)]))
                return false;
        }
    }
    rtrcu_fence_full();
    return true;
}

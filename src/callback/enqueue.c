/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The queueing part of call_rcu(): number the head, append it, and check the limits from time to time.
 *
 * tested by: test/unit/callback/callback.cc
 */
#include "callback/callback.h"

void callback_mark_new(struct callback *cb, const struct reader_record *record)
{
    struct reader_leaf *leaf = reader_leaf_of(record);
    rtrcu_fetch_or(&callback_leaf(leaf)->dirty, reader_bit(record)); /* [O27] */
    callback_mark(&cb->dirty_leaves, leaf);
}

/* Append a head of a thread without a record, concurrently with others. */
static bool push_shared(struct cb_queue *queue, struct rcu_head *head)
{
    /* If a signal handler forks during the push, the child must end: its repair would mistake this thread's open link
     * for the link of a thread that the child does not have. */
    CALL_SCOPE();
    return cbqueue_push(queue, head, CB_ANYBODY);
}

enum callback_enqueued callback_enqueue(struct callback *cb, struct reader_record *record, struct rcu_head *head,
                                        rcu_callback_t func)
{
    bool shared = !record;
    if (shared)
        record = reader_shared_record(cb->registry);

    if (CHECK_DEBUG) {
        callback_double_enter(cb, head, CALLBACK_NATIVE);
        callback_code_note(cb, func);
    }
    head->func = func;

    struct cb_queue *queue = &callback_slot(record)->queue;
    enum callback_enqueued result = CALLBACK_DONE;

    if (shared ? push_shared(queue, head) : cbqueue_push(queue, head, CB_OWNER)) {
        /* [O8] Enqueue half: we set the bit after the link; the driver reads the bits before the driver sleeps. */
        rtrcu_store_relaxed(&callback_slot(record)->oldest_ns, plat_clock_now());
        callback_mark_new(cb, record);
        result |= CALLBACK_FIRST;
    }

    if (__builtin_expect(rtrcu_load_relaxed(&queue->enqueued) >= rtrcu_load_relaxed(&queue->check_at), 0))
        result |= CALLBACK_CHECK_LIMITS;

    return result;
}

uint64_t callback_pending(const struct reader_record *record)
{
    uint64_t freed = rtrcu_load_acquire(&callback_slot(record)->free_done);
    return cbqueue_pending(&callback_slot(record)->queue) + rtrcu_load_relaxed(&callback_slot(record)->free_queued) -
           freed;
}

/* Make the owner check its limits again after @more heads and pointers.  Half of @more is allowed for each of the two,
 * so no limit is exceeded unnoticed. */
static void check_after(struct callback_slot *slot, uint64_t more)
{
    uint64_t half = (more + 1) / 2;
    rtrcu_store_relaxed(&slot->queue.check_at, rtrcu_load_relaxed(&slot->queue.enqueued) + half);
    rtrcu_store_relaxed(&slot->free_check_at, rtrcu_load_relaxed(&slot->free_queued) + half);
}

/* Compare the backlog with the limits of @config, and set the next check.  Shares may shrink while they are in force,
 * so an owner checks again after an eighth of its share. */
static enum callback_pressure check_by(const struct callback *cb, const struct rtrcu_config *config, bool exceeded,
                                       struct reader_record *record)
{
    struct callback_slot *slot = callback_slot(record);
    uint64_t pending = callback_pending(record);
    uint64_t qhimark = (uint64_t)config->qhimark, most = callback_full_at(cb);
    uint64_t low = qhimark < most ? qhimark : most, step = low / 8 + 1;

    if (pending >= most) {
        check_after(slot, 1);
        return pending > most ? CALLBACK_OVER : CALLBACK_FULL;
    }

    if (pending >= low) {
        uint64_t room = most - pending;
        check_after(slot, room < step ? room : step);
        return CALLBACK_PUSH;
    }

    uint64_t room = low - pending;
    check_after(slot, exceeded && step < room ? step : room);
    return CALLBACK_CALM;
}

/* A change of the limits makes owners check again.  We set the next check, then read whether the configuration has
 * changed.
 *  - our store first:  the other thread's store follows it, and we check at our next call;
 *  - the other thread's store first:  the new limits are in force, and we check again here.
 * Forbidden: the next check is set by the old limits AND we do not see the new limits.
 * The same holds for callback_bound_judge(), which puts shares into force. */
enum callback_pressure callback_check_limits(struct callback *cb, struct reader_record *record)
{
    for (;;) { /* ends unless the limits keep changing */
        const struct rtrcu_config *config = config_now(cb->config);
        bool exceeded = callback_bound_is_exceeded(cb);
        enum callback_pressure pressure = check_by(cb, config, exceeded, record);
        rtrcu_fence_full();
        if (config_now(cb->config) == config && callback_bound_is_exceeded(cb) == exceeded)
            return pressure;
    }
}

void callback_check_again(struct reader_record *record)
{
    rtrcu_store_relaxed(&callback_slot(record)->queue.check_at, 0);
    rtrcu_store_relaxed(&callback_slot(record)->free_check_at, 0);
}

void callback_check_again_all(struct callback *cb)
{
    rtrcu_fence_full();
    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_leaf(cb->registry, leaf));) {
        struct reader_record *record;
        for (uint32_t left = READER_ALL_SLOTS; (record = reader_next(leaf, &left));)
            callback_check_again(record);
    }
}

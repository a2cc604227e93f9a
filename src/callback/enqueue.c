/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* call_rcu()'s part: number, append, and look at the limits now and then.
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

/* Of a thread without a record, beside others. */
static bool push_shared(struct cb_queue *queue, struct rcu_head *head)
{
    CALL_SCOPE(); /* a fork's child takes a link that is left open for another thread's */
    return cbqueue_push(queue, head, CB_ANYBODY);
}

enum callback_enqueued callback_enqueue(struct callback *cb, struct reader_record *record, struct rcu_head *head,
                                        rcu_callback_t func)
{
    bool shared = !record;
    if (shared)
        record = reader_shared_record(cb->registry);

    if (CHECK_DEBUG) {
        callback_double_enter(cb, head);
        callback_code_note(cb, func);
    }
    head->func = func;

    struct cb_queue *queue = &callback_slot(record)->queue;
    enum callback_enqueued result = CALLBACK_DONE;

    if (shared ? push_shared(queue, head) : cbqueue_push(queue, head, CB_OWNER)) {
        /* [O8] Enqueue half: the bit is set behind the link, and the driver looks at the bits before it sleeps. */
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

/* Look again after @more heads and pointers.  Each kind counts half of them, so that none passes a mark unseen. */
static void check_after(struct callback_slot *slot, uint64_t more)
{
    uint64_t half = (more + 1) / 2;
    rtrcu_store_relaxed(&slot->queue.check_at, rtrcu_load_relaxed(&slot->queue.enqueued) + half);
    rtrcu_store_relaxed(&slot->free_check_at, rtrcu_load_relaxed(&slot->free_queued) + half);
}

static enum callback_pressure check_by(const struct rtrcu_config *config, struct reader_record *record)
{
    struct callback_slot *slot = callback_slot(record);
    uint64_t pending = callback_pending(record);
    uint64_t qhimark = (uint64_t)config->qhimark, qmax = (uint64_t)config->qmax;
    uint64_t low = qhimark < qmax ? qhimark : qmax;

    if (pending >= qmax) {
        check_after(slot, 1);
        return pending > qmax ? CALLBACK_OVER : CALLBACK_FULL;
    }

    if (pending >= low) {
        uint64_t room = qmax - pending, step = low / 8 + 1;
        check_after(slot, room < step ? room : step);
        return CALLBACK_PUSH;
    }

    check_after(slot, low - pending);
    return CALLBACK_CALM;
}

/* A change of the limits has owners look again behind that; we see by which we have looked behind our next look.
 *  - our store first:  the other's comes behind it, and we look at our next call;
 *  - its store first:  the new limits are in force, and we look again here.
 * Forbidden: the next look is put off by the old limits AND the new ones are not seen. */
enum callback_pressure callback_check_limits(struct callback *cb, struct reader_record *record)
{
    for (;;) { /* ends unless the configuration changes for ever */
        const struct rtrcu_config *config = config_now(cb->config);
        enum callback_pressure pressure = check_by(config, record);
        rtrcu_fence_full();
        if (config_now(cb->config) == config)
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

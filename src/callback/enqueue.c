/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* call_rcu()'s part: number, append, and look at the limits now and then.
 *
 * tested by: test/unit/callback/callback.cc
 */
#include "callback/callback.h"

unsigned int callback_enqueue(struct callback *cb, struct reader_record *record, struct rcu_head *head,
                              rcu_callback_t func)
{
    bool orphan = !record;
    if (orphan)
        record = reader_orphan(cb->registry);
    if (CHECK_DEBUG)
        callback_double_enter(cb, head);
    head->func = func;
    struct cb_queue *queue = &callback_slot(record)->queue;
    unsigned int result = 0;
    if (cbqueue_push(queue, head, orphan ? CB_ANYBODY : CB_OWNER)) {
        /* [O8] Enqueue half: the bit is set behind the link, and the driver looks at the bits before it sleeps. */
        rtrcu_store_relaxed(&callback_slot(record)->oldest_ns, plat_clock_now());
        rtrcu_fetch_or(&callback_leaf(reader_leaf_of(record))->dirty, reader_bit(record));
        result |= CALLBACK_FIRST;
    }
    if (__builtin_expect(rtrcu_load_relaxed(&queue->enqueued) >= rtrcu_load_relaxed(&queue->look_at), 0))
        result |= CALLBACK_LOOK;
    return result;
}

uint64_t callback_pending(const struct reader_record *record)
{
    uint64_t freed = rtrcu_load_acquire(&callback_slot(record)->free_done);
    return cbqueue_pending(&callback_slot(record)->queue) + rtrcu_load_relaxed(&callback_slot(record)->free_queued) - freed;
}

enum callback_pressure callback_look(struct callback *cb, struct reader_record *record)
{
    const struct rtrcu_config *config = config_now(cb->config);
    uint64_t pending = callback_pending(record), enqueued = rtrcu_load_relaxed(&callback_slot(record)->queue.enqueued);
    uint64_t qhimark = (uint64_t)config->qhimark, qmax = (uint64_t)config->qmax;
    uint64_t low = qhimark < qmax ? qhimark : qmax;
    if (pending >= qmax) {
        rtrcu_store_relaxed(&callback_slot(record)->queue.look_at, enqueued + 1);
        return CALLBACK_FULL;
    }
    if (pending >= low) {
        uint64_t room = qmax - pending, step = low / 8 + 1;
        rtrcu_store_relaxed(&callback_slot(record)->queue.look_at, enqueued + (room < step ? room : step));
        return CALLBACK_PUSH;
    }
    rtrcu_store_relaxed(&callback_slot(record)->queue.look_at, enqueued + (low - pending));
    return CALLBACK_CALM;
}

void callback_look_again(struct reader_record *record)
{
    rtrcu_store_relaxed(&callback_slot(record)->queue.look_at, 0);
}

void callback_look_again_all(struct callback *cb)
{
    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_leaf(cb->registry, leaf));) {
        for (uint32_t slot = 0; slot < READER_FANOUT; slot++)
            rtrcu_store_relaxed(&callback_leaf(leaf)->slot[slot].queue.look_at, 0);
    }
}

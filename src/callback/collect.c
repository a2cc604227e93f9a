/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From the inboxes to segments that wait for a grace period, and from there to ready.
 *
 * tested by: test/unit/callback/callback.cc
 */
#include "callback/callback.h"

/* A grace period has made more ready. */
static void note_ready(struct callback *cb, struct reader_record *record)
{
    rtrcu_store_relaxed(&record->quota, (uint32_t)callback_config(cb)->bhlimit);
    if (!record->oldest_ready_ns)
        record->oldest_ready_ns = rtrcu_load_relaxed(&record->oldest_ns);
    rtrcu_store_relaxed(&record->made_ready, record->made_ready + 1);
    rtrcu_store_release(&record->queue.has_ready, 1);
}

static void collect_record(struct callback *cb, struct reader_record *record)
{
    struct gp *gp = cb->gp;
    struct cb_queue *queue = &record->queue;
    struct cb_chain chain = cbqueue_take_inbox(queue);
    cbqueue_join(&chain, callback_free_collect(record));
    if (!chain.first)
        return; /* what is not finished yet sets the dirty bit when it is */
    uint64_t cookie = gp_snap(gp, GP_NORMAL);
    /* At most two cookies are open once what is over has moved on. */
    if (cbqueue_advance(queue, rtrcu_load_acquire(&gp->machine[GP_NORMAL].seq)))
        note_ready(cb, record);
    cbqueue_wait(queue, chain, cookie);
    reader_bits_set(&record->leaf->waiting, reader_bit(record));
    gp_request(gp, GP_NORMAL, cookie);
}

bool callback_collect(struct callback *cb)
{
    bool any = false;
    for (uint32_t i = 0; i < reader_leaf_count(cb->gp->registry); i++) {
        struct reader_leaf *leaf = reader_leaf_at(cb->gp->registry, i);
        if (!leaf || rtrcu_load_acquire(&leaf->dirty) == 0)
            continue;
        lock_acquire(&leaf->lock);
        uint32_t left = rtrcu_exchange(&leaf->dirty, 0); /* before the inboxes are looked at */
        any |= left != 0;
        for (; left; left &= left - 1)
            collect_record(cb, &leaf->records[__builtin_ctz(left)]);
        lock_release(&leaf->lock);
    }
    return any;
}

/* Who invokes what is ready now? */
static enum callback_server choose_server(struct callback *cb, struct reader_record *record)
{
    const struct callback_policy *policy = callback_policy_of(callback_config(cb)->policy);
    bool full = callback_pending(record) >= (uint64_t)callback_config(cb)->qmax;
    bool owner_helps =
        callback_config(cb)->backpressure == RTRCU_BACKPRESSURE_HELP && !rtrcu_load_relaxed(&record->queue.cut);
    bool push = full && !owner_helps;
    if (!policy->owner_runs || !reader_is_registered(record) || rtrcu_load_relaxed(&cb->barriers) || push)
        return CALLBACK_DAEMON;
    return CALLBACK_OWNER;
}

/* None of its ready callbacks has returned for CALLBACK_OWNER_LATE_NS: it does not call, or its calls run none since a
 * deadline is always near.  The rests of policy throttle do not count. */
static bool owner_is_late(struct reader_record *record, int64_t now)
{
    uint64_t returned = callback_returned(record);
    if (!(record->leaf->ready & reader_bit(record)) || returned != record->returned_seen) {
        record->returned_seen = returned;
        record->idle_since_ns = now;
    }
    int64_t rest_end_ns = rtrcu_load_relaxed(&record->plugged_ns);
    int64_t since = rest_end_ns > record->idle_since_ns ? rest_end_ns : record->idle_since_ns;
    return now - since > CALLBACK_OWNER_LATE_NS;
}

enum callback_server callback_advance(struct callback *cb, struct reader_record *record, int64_t now)
{
    struct cb_queue *queue = &record->queue;
    uint32_t bit = reader_bit(record);
    must_hold(&record->leaf->lock);
    bool moved = cbqueue_advance(queue, rtrcu_load_acquire(&cb->gp->machine[GP_NORMAL].seq)); /* [O4] */
    if (moved)
        note_ready(cb, record);
    if (!cbqueue_is_waiting(queue))
        reader_bits_clear(&record->leaf->waiting, bit);
    if (!rtrcu_load_relaxed(&queue->has_ready))
        return CALLBACK_NOBODY;
    rtrcu_tsan_acquire(rtrcu_read_unlock_slow);
    bool late = owner_is_late(record, now);
    reader_bits_set(&record->leaf->ready, bit);
    enum callback_server server = choose_server(cb, record);
    bool spent = callback_policy_of(callback_config(cb)->policy)->punts && callback_config(cb)->bhlimit &&
                 rtrcu_load_relaxed(&record->quota) == 0;
    if (server == CALLBACK_OWNER && (spent || late))
        server = CALLBACK_DAEMON;
    if (server == CALLBACK_OWNER && (reader_inside(record) & RTRCU_QSBR_ONLINE))
        reader_arm(record); /* [O3] its next quiescent state finds them */
    return server;
}

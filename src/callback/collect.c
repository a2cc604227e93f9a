/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From the inboxes to segments that wait for a grace period, and from there to ready.
 *
 * tested by: test/unit/callback/callback.cc
 */
#include "callback/callback.h"

/* A grace period has made more ready. */
static void note_ready(struct callback *cb, struct reader_record *record)
{
    struct callback_slot *slot = callback_slot(record);
    bool waits = cbqueue_is_waiting(&slot->queue);

    rtrcu_store_relaxed(&slot->quota, (uint32_t)config_now(cb->config)->bhlimit);
    rtrcu_store_relaxed(&slot->punted, 0);

    if (!rtrcu_load_relaxed(&slot->oldest_ready_ns))
        rtrcu_store_relaxed(&slot->oldest_ready_ns, rtrcu_load_relaxed(&slot->waiting_ns[0]));
    rtrcu_store_relaxed(&slot->waiting_ns[0], waits ? rtrcu_load_relaxed(&slot->waiting_ns[1]) : 0);
    rtrcu_store_relaxed(&slot->waiting_ns[1], 0);
    rtrcu_store_relaxed(&slot->made_ready, rtrcu_load_relaxed(&slot->made_ready) + 1);
    rtrcu_store_release(&callback_slot(record)->queue.has_ready, 1);
}

/* The segment that was filled last has begun at @since_ns, unless it had begun before. */
static void note_waiting(struct callback_slot *slot, int64_t since_ns)
{
    int64_t *began_ns = &slot->waiting_ns[slot->queue.waiting[1].first ? 1 : 0];
    if (rtrcu_load_relaxed(began_ns) == 0)
        rtrcu_store_relaxed(began_ns, since_ns);
}

static void collect_record(struct callback *cb, struct reader_record *record)
{
    struct gp *gp = cb->gp;
    struct cb_queue *queue = &callback_slot(record)->queue;
    int64_t since_ns = rtrcu_load_relaxed(&callback_slot(record)->oldest_ns); /* before it begins anew */

    struct cb_chain chain = cbqueue_take_inbox(queue);
    cbqueue_join(&chain, callback_free_collect(record));
    if (!chain.first)
        return; /* what is not finished yet sets the dirty bit when it is */

    /* The cookie is taken behind the inbox, so that its grace period begins behind all that the inbox had. */
    uint64_t cookie = gp_snap(gp, GP_NORMAL);
    /* At most two cookies are open once what is over has moved on. */
    if (cbqueue_advance(queue, gp_seq(gp, GP_NORMAL)))
        note_ready(cb, record);

    cbqueue_wait(queue, chain, cookie);
    note_waiting(callback_slot(record), since_ns);
    callback_bits_set(&callback_leaf(reader_leaf_of(record))->waiting, reader_bit(record));
    callback_mark(&cb->busy_leaves, reader_leaf_of(record));
    gp_request(gp, GP_NORMAL, cookie);
}

bool callback_anything_new(struct callback *cb)
{
    return callback_next_marked(&cb->dirty_leaves, cb->registry, NULL) != NULL;
}

/* [O27] Collector half; the producer's is callback_mark(). */
bool callback_collect(struct callback *cb)
{
    bool any = false;
    for (struct reader_leaf *leaf = NULL; (leaf = callback_next_marked(&cb->dirty_leaves, cb->registry, leaf));) {
        struct reader_record *record;

        callback_queues_lock(leaf);
        callback_unmark(&cb->dirty_leaves, leaf);
        uint32_t left = rtrcu_exchange(&callback_leaf(leaf)->dirty, 0); /* before the inboxes are looked at */
        any |= left != 0;
        while ((record = reader_next(leaf, &left)))
            collect_record(cb, record);
        callback_queues_unlock(leaf);
    }

    return any;
}

void callback_unmark_if_empty(struct callback *cb, struct reader_leaf *leaf)
{
    must_hold(&callback_leaf(leaf)->lock);
    if (callback_busy_slots(leaf) == 0)
        callback_unmark(&cb->busy_leaves, leaf);
}

void callback_owner_waits(const struct reader_record *record, bool waits)
{
    rtrcu_store_relaxed(&callback_slot(record)->owner_waits, waits);
}

/* Who invokes what is ready now? */
static enum callback_server choose_server(struct callback *cb, struct reader_record *record)
{
    const struct callback_policy *policy = callback_policy_of(config_now(cb->config)->policy);
    bool full = callback_pending(record) >= (uint64_t)config_now(cb->config)->qmax;
    bool owner_helps = config_now(cb->config)->backpressure == RTRCU_BACKPRESSURE_HELP &&
                       !rtrcu_load_relaxed(&callback_slot(record)->queue.cut);
    bool push = (full && !owner_helps) || rtrcu_load_relaxed(&callback_slot(record)->owner_waits);

    if (!policy->owner_runs || !reader_is_registered(record) || tally_read(&cb->barriers) || push)
        return CALLBACK_DAEMON;
    return CALLBACK_OWNER;
}

/* None of its ready callbacks has returned for CALLBACK_OWNER_LATE_NS: it does not call, or its calls run none since a
 * deadline is always near.  The rests of policy throttle do not count. */
static bool owner_is_late(const struct callback *cb, struct reader_record *record, int64_t now)
{
    uint64_t returned = callback_returned(record);

    if (!(callback_ready(reader_leaf_of(record)) & reader_bit(record)) ||
        returned != callback_slot(record)->returned_seen) {
        callback_slot(record)->returned_seen = returned;
        callback_slot(record)->idle_since_ns = now;
    }

    bool rests = config_now(cb->config)->policy == RTRCU_POLICY_THROTTLE;
    int64_t rest_end_ns = rests ? rtrcu_load_relaxed(&callback_slot(record)->throttled_until_ns) : 0;
    int64_t since =
        rest_end_ns > callback_slot(record)->idle_since_ns ? rest_end_ns : callback_slot(record)->idle_since_ns;
    return now - since > CALLBACK_OWNER_LATE_NS;
}

enum callback_server callback_advance(struct callback *cb, struct reader_record *record, int64_t now)
{
    struct cb_queue *queue = &callback_slot(record)->queue;
    uint32_t bit = reader_bit(record);
    must_hold(&callback_leaf(reader_leaf_of(record))->lock);
    reader_must_hold(reader_leaf_of(record));

    bool moved = cbqueue_advance(queue, gp_seq(cb->gp, GP_NORMAL)); /* [O4] */
    if (moved)
        note_ready(cb, record);
    if (!cbqueue_is_waiting(queue))
        callback_bits_clear(&callback_leaf(reader_leaf_of(record))->waiting, bit);

    if (!rtrcu_load_relaxed(&queue->has_ready))
        return CALLBACK_NOBODY;

    rtrcu_tsan_acquire(rtrcu_read_unlock_slow);
    /* The owner is judged before its bit is set: callbacks that have just become ready are not late. */
    bool late = owner_is_late(cb, record, now);
    callback_bits_set(&callback_leaf(reader_leaf_of(record))->ready, bit);

    enum callback_server server = choose_server(cb, record);
    bool punted =
        callback_punts(cb) && config_now(cb->config)->bhlimit && rtrcu_load_relaxed(&callback_slot(record)->punted);
    if (server == CALLBACK_OWNER && (punted || late))
        server = CALLBACK_DAEMON;

    if (server == CALLBACK_OWNER && (reader_inside(record) & RTRCU_QSBR_ONLINE))
        reader_arm(record); /* [O3] the owner's next quiescent state finds them */

    return server;
}

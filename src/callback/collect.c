/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Moving callbacks from inboxes to segments that wait for a grace period, and from there to ready.
 *
 * tested by: test/unit/callback/callback.cc
 */
#include "callback/callback.h"

/* Update the slot after a grace period has made more of its callbacks ready. */
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

/* If the segment filled last was empty before, record that its oldest callback was queued at @since_ns. */
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
    int64_t since_ns =
        rtrcu_load_relaxed(&callback_slot(record)->oldest_ns); /* read before an enqueue stores the next time */

    struct cb_chain chain = cbqueue_take_inbox(queue);
    cbqueue_join(&chain, callback_free_collect(record));
    if (!chain.first)
        return; /* a producer whose link is unfinished sets the dirty bit once the link is complete */
    callback_bound_collect(cb, callback_slot(record));

    /* The cookie is taken after the inbox, so the cookie's grace period begins after all callbacks of that inbox were
     * queued. */
    uint64_t cookie = gp_snap(gp, GP_NORMAL);
    /* Segments whose grace period has ended become ready first, so at most two cookies are still waited for. */
    if (cbqueue_advance(queue, gp_seq(gp, GP_NORMAL)))
        note_ready(cb, record);

    cbqueue_wait(queue, chain, cookie);
    note_waiting(callback_slot(record), since_ns);
    bool was_busy = callback_is_busy(record);
    callback_bits_set(&callback_leaf(reader_leaf_of(record))->waiting, reader_bit(record));
    callback_bound_count(cb, record, was_busy);
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
        uint32_t left = rtrcu_exchange(&callback_leaf(leaf)->dirty, 0); /* cleared before the inboxes are read */
        any |= left != 0;
        while ((record = reader_next(leaf, &left)))
            collect_record(cb, record);
        callback_queues_unlock(leaf);
    }

    if (any)
        callback_bound_judge(cb);
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

/* The thread that should invoke the ready callbacks. */
static enum callback_server choose_server(struct callback *cb, struct reader_record *record)
{
    const struct callback_policy *policy = callback_policy_of(config_now(cb->config)->policy);
    bool full = callback_is_full(cb, record);
    bool owner_helps = config_now(cb->config)->backpressure == RTRCU_BACKPRESSURE_HELP &&
                       !rtrcu_load_relaxed(&callback_slot(record)->queue.cut);
    bool push = (full && !owner_helps) || rtrcu_load_relaxed(&callback_slot(record)->owner_waits);

    if (!policy->owner_runs || !reader_is_registered(record) || tally_read(&cb->barriers) || push)
        return CALLBACK_DAEMON;
    return CALLBACK_OWNER;
}

/* Has none of the owner's ready callbacks returned for CALLBACK_OWNER_LATE_NS?  Then the owner makes no calls, or its
 * calls run no callback because a deadline is always near.  Pauses of policy throttle do not count. */
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

/* Called when an owner's callbacks are late, which may be due to a busy machine.  If the owner has never made a call
 * that runs callbacks, its program lacks that call, which is reported later. */
static void note_missed_call(const struct callback *cb, const struct reader_record *record)
{
    uint32_t before = CALLBACK_NEVER_CALLED;
    if (config_now(cb->config)->policy == RTRCU_POLICY_INLINE)
        (void)rtrcu_compare_exchange(&callback_slot(record)->calls, &before, CALLBACK_CALL_MISSED);
}

void callback_report_missed_call(struct callback *cb, const struct reader_record *record)
{
    uint32_t before = CALLBACK_CALL_MISSED;
    if (rtrcu_load_relaxed(&callback_slot(record)->calls) != before ||
        !rtrcu_compare_exchange(&callback_slot(record)->calls, &before, CALLBACK_MISS_REPORTED))
        return;

    complain_by(
        &cb->missed_calls, callback_message_box(cb),
        "rtrcu: thread %u: its callbacks have been ready for %d ms, and with policy=inline it runs them itself, but"
        " it has never called rcu_process_callbacks() or rcu_quiescent_state(); a daemon runs them.  Call one of"
        " them in the thread's loop, which rtrcu_ready_fd() can wake, or set policy=daemon",
        reader_thread_id(record).number, CALLBACK_OWNER_LATE_NS / 1000000);
}

enum callback_server callback_advance(struct callback *cb, struct reader_record *record, int64_t now)
{
    struct cb_queue *queue = &callback_slot(record)->queue;
    uint32_t bit = reader_bit(record);
    bool was_busy = callback_is_busy(record);
    must_hold(&callback_leaf(reader_leaf_of(record))->lock);
    reader_must_hold(reader_leaf_of(record));

    bool moved = cbqueue_advance(queue, gp_seq(cb->gp, GP_NORMAL)); /* [O4] */
    if (moved)
        note_ready(cb, record);
    if (!cbqueue_is_waiting(queue))
        callback_bits_clear(&callback_leaf(reader_leaf_of(record))->waiting, bit);

    if (!rtrcu_load_relaxed(&queue->has_ready)) {
        callback_bound_count(cb, record, was_busy);
        return CALLBACK_NOBODY;
    }

    rtrcu_tsan_acquire(rtrcu_read_unlock_slow);
    /* Judge the owner before its bit is set: callbacks that have just become ready are not late. */
    bool late = owner_is_late(cb, record, now);
    callback_bits_set(&callback_leaf(reader_leaf_of(record))->ready, bit);
    callback_bound_count(cb, record, was_busy);

    enum callback_server server = choose_server(cb, record);
    bool punted =
        callback_punts(cb) && config_now(cb->config)->bhlimit && rtrcu_load_relaxed(&callback_slot(record)->punted);
    if (server == CALLBACK_OWNER && late)
        note_missed_call(cb, record);
    if (server == CALLBACK_OWNER && (punted || late))
        server = CALLBACK_DAEMON;

    if (server == CALLBACK_OWNER && (reader_inside(record) & RTRCU_QSBR_ONLINE))
        reader_arm(record); /* [O3] the owner's next quiescent state finds its ready callbacks */

    return server;
}

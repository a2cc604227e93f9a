/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Running ready callbacks, in order, within a budget of count, time and deadline.
 *
 * tested by: test/unit/callback/callback.cc
 */
#include <stdlib.h>

#include "callback/callback.h"

/* The clock is read before each change of function, after as many callbacks as are estimated to fit in this time, and
 * at least after every 8. */
#define CLOCK_EVERY_NS 1000
#define CLOCK_EVERY_MAX 8
#define COST_MAX_NS 1000000
/* The clock is also read before each callback when the deadline is so near that an interval of costly callbacks could
 * reach the deadline, whatever the estimate: if callbacks become costly, one callback may exceed the deadline, not
 * eight. */
#define DEADLINE_NEAR_NS ((int64_t)CLOCK_EVERY_MAX * COST_MAX_NS)
/* A run of callbacks that delays other callbacks and the next grace period is reported if it took at least
 * LONG_TOGETHER_NS, and at least LONG_EACH_NS per callback. */
#define LONG_TOGETHER_NS 100000000
#define LONG_EACH_NS 1000000

bool callback_has_ready(const struct reader_record *record)
{
    return rtrcu_load_acquire(&callback_slot(record)->queue.has_ready) != 0;
}

static void run(struct callback *cb, struct reader_record *record, struct rcu_head *head)
{
    rcu_callback_t func = head->func;
    rtrcu_store_relaxed(&callback_slot(record)->queue.function, callback_function(func));
    if (CHECK_DEBUG) {
        callback_double_leave(cb, head, CALLBACK_NATIVE);
        callback_code_check(cb, record, func);
    }
    callback_call(head, func);
    rtrcu_store_release(&callback_slot(record)->queue.invoked, callback_slot(record)->queue.started);
}

/* Take the next head out of the batch; from the order of the stores a fork's child can tell which callback had
 * begun. */
static struct rcu_head *next_head(struct reader_record *record)
{
    struct cb_queue *queue = &callback_slot(record)->queue;
    struct rcu_head *head = queue->batch.first;

    rtrcu_store_relaxed(&queue->running, head);
    rtrcu_store_release(&queue->started, queue->invoked + 1);
    rtrcu_fence_light();

    head = cbqueue_pop(&queue->batch);
    if (!head)
        rtrcu_store_release(&queue->started, queue->invoked);
    return head;
}

/* Run one callback of a batch that is not empty, or free one pointer.  False: the link after the callback is not
 * complete yet. */
static bool run_next(struct callback *cb, struct reader_record *record)
{
    if (callback_is_free_block(callback_slot(record)->queue.batch.first->func)) {
        if (CHECK_DEBUG)
            callback_code_check(cb, record, (rcu_callback_t)callback_free_next(record));
        callback_free_one(record);
        return true;
    }

    struct rcu_head *head = next_head(record);
    if (head)
        run(cb, record, head);
    return head != NULL;
}

struct invocation {
    const struct callback_budget *budget;
    int64_t checked_ns;   /* the last clock reading, 0 = none */
    uint32_t since_check; /* callbacks begun since that reading */
    uint32_t interval;    /* callbacks until the next reading */
    uintptr_t function;   /* function of the callback that ran last */
    bool cut;             /* the batch ended at the deadline */
    bool stopped;         /* must_stop() ended the batch */
    uint64_t spent_ns;    /* time in callbacks, up to the last clock reading */
};

/* Update the cost estimate: follow a rise immediately, a fall slowly.  The first reading of a batch has no sample, and
 * the estimate decays then, so an estimate that stops every batch at its beginning cannot persist. */
static void learn_cost(struct cb_queue *queue, const struct invocation *inv, int64_t now)
{
    uint64_t cost = inv->since_check ? (uint64_t)(now - inv->checked_ns) / inv->since_check : 0;
    uint64_t known = rtrcu_load_relaxed(&queue->cost_ns);
    cost = cost > COST_MAX_NS ? COST_MAX_NS : cost;
    rtrcu_store_relaxed(&queue->cost_ns, (uint32_t)(cost > known ? (known + cost) / 2 : known - (known - cost) / 8));
}

/* Record the longest callback: the mean of the callbacks between two clock readings, which have the same function
 * unless the batch has no time limit. */
static void note_if_longest(struct callback_slot *slot, uint64_t each_ns)
{
    if (each_ns <= rtrcu_load_relaxed(&slot->longest_ns))
        return;
    rtrcu_store_relaxed(&slot->longest, rtrcu_load_relaxed(&slot->queue.function));
    rtrcu_store_release(&slot->longest_ns, each_ns);
}

static void complain_long(struct callback *cb, const struct cb_queue *queue, uint64_t count, int64_t took_ns)
{
    char code[256];
    rcu_callback_t function = rtrcu_load_relaxed(&queue->function);
    bool frees = function == callback_function(NULL);
    (void)plat_code((uintptr_t)function, code, sizeof(code));

    complain_by(&cb->long_callbacks, callback_message_box(cb),
                "rtrcu: thread %u: %llu callbacks took %lld ms, the last one %s%s; other callbacks wait meanwhile, so"
                " a callback should pass long work to a thread",
                lock_thread_number(), (unsigned long long)count, (long long)(took_ns / 1000000),
                frees ? "free() for rcu_free() or rcu_free_head()" : "the function at ", frees ? "" : code);
}

static void check_duration(struct callback *cb, struct callback_slot *slot, uint64_t count, int64_t took_ns)
{
    const struct cb_queue *queue = &slot->queue;
    if (count)
        note_if_longest(slot, (uint64_t)took_ns / count);

    if (took_ns < LONG_TOGETHER_NS || count == 0 || took_ns / (int64_t)count < LONG_EACH_NS)
        return;

    complain_long(cb, queue, count, took_ns);
}

/* Intervals begin at one callback and double up to the length that the estimate and the deadline allow, so that
 * only few callbacks of unknown cost can exceed the limit. */
static uint32_t next_interval(const struct cb_queue *queue, const struct invocation *inv)
{
    int64_t deadline_ns = inv->budget->deadline_ns;
    if (inv->interval == 0 || (deadline_ns && deadline_ns - inv->checked_ns < DEADLINE_NEAR_NS))
        return 1;

    uint32_t fits = CLOCK_EVERY_NS / (rtrcu_load_relaxed(&queue->cost_ns) + 1) + 1;
    fits = fits > CLOCK_EVERY_MAX ? CLOCK_EVERY_MAX : fits;
    return inv->interval * 2 > fits ? fits : inv->interval * 2;
}

static bool is_timed(const struct callback_budget *budget)
{
    return budget->end_ns || budget->deadline_ns;
}

/* Record the cost of the callbacks since the last clock reading.  Not in a daemon: other threads preempt it, so its
 * time does not show what the callbacks would cost their owner. */
static void learn(struct callback *cb, struct callback_slot *slot, struct invocation *inv, int64_t now)
{
    if (inv->since_check)
        inv->spent_ns += (uint64_t)(now - inv->checked_ns);
    if (is_timed(inv->budget) || inv->budget->by_owner)
        learn_cost(&slot->queue, inv, now);
    check_duration(cb, slot, inv->since_check, now - inv->checked_ns);
}

/* Read the clock.  True: the budget has no room for the next interval of callbacks. */
static bool time_is_up(struct callback *cb, struct callback_slot *slot, struct invocation *inv)
{
    const struct callback_budget *budget = inv->budget;
    struct cb_queue *queue = &slot->queue;
    int64_t now = plat_clock_now();

    learn(cb, slot, inv, now);
    inv->checked_ns = now;
    inv->since_check = 0;
    inv->interval = next_interval(queue, inv);

    int64_t needed = (int64_t)rtrcu_load_relaxed(&queue->cost_ns) * inv->interval;
    if (budget->deadline_ns && now + needed >= budget->deadline_ns) {
        counter_add(&cb->deadline_stops, 1);
        inv->cut = true;
        return true;
    }

    if (budget->end_ns && now >= budget->end_ns) {
        counter_add(&cb->budget_stops, 1);
        return true;
    }

    return false;
}

/* Function of the next callback, or of the next pointer of a block. */
static uintptr_t next_function(const struct reader_record *record, const struct rcu_head *next)
{
    if (callback_is_free_block(next->func))
        return (uintptr_t)callback_free_next(record);
    return (uintptr_t)callback_function(next->func);
}

/* Does the next callback have a different function from the last?  Then its cost is unknown, and intervals start
 * over. */
static bool is_of_another_kind(const struct reader_record *record, struct invocation *inv)
{
    uintptr_t function = next_function(record, callback_slot(record)->queue.batch.first);
    if (function == inv->function)
        return false;

    inv->function = function;
    inv->interval = 0;
    return true;
}

/* Does the policy or the time limit end the batch before its next callback? */
static bool must_end(struct callback *cb, struct reader_record *record, struct invocation *inv, uint64_t done)
{
    const struct callback_budget *budget = inv->budget;
    if (done >= budget->sure && budget->must_stop)
        inv->stopped = budget->must_stop(cb, record);

    bool look = is_timed(budget) && (is_of_another_kind(record, inv) || inv->since_check >= inv->interval);
    return inv->stopped || (look && time_is_up(cb, callback_slot(record), inv));
}

/* For rtrcu_thread_stats(): the calling thread has spent @ns in the callbacks of a batch. */
static void note_own_time(uint64_t ns)
{
    rtrcu_self.callback_ns += ns;
    if (ns > rtrcu_self.batch_ns_max)
        rtrcu_self.batch_ns_max = ns;
}

static void run_batch(struct callback *cb, struct reader_record *record, const struct callback_budget *budget,
                      struct callback_run *run)
{
    struct cb_queue *queue = &callback_slot(record)->queue;
    struct invocation inv = {.budget = budget, .checked_ns = is_timed(budget) ? 0 : plat_clock_now()};
    uint64_t done = 0;

    trace3(batch_begin, cb->gp, reader_thread_id(record).number, budget->count_max);
    /* A batch that has run its last callback does not count as stopped by its time limit, however late it is. */
    while (queue->batch.first && done < budget->count_max && !(budget->stop && tally_read(budget->stop))) {
        if (must_end(cb, record, &inv, done) || !run_next(cb, record))
            break;
        inv.since_check++;
        done++;
    }

    if (inv.since_check)
        learn(cb, callback_slot(record), &inv, plat_clock_now());
    note_own_time(inv.spent_ns);

    trace3(batch_end, cb->gp, reader_thread_id(record).number, done);
    if (budget->by_owner)
        rtrcu_store_relaxed(&queue->cut, inv.cut);

    run->done += done;
    run->stopped = inv.stopped;
}

/* One sample per batch: how long its oldest callback has waited. */
static void sample_latency(struct callback_leaf *part, int64_t waited_ns)
{
    uint64_t us = waited_ns > 1000 ? (uint64_t)waited_ns / 1000 : 1;
    int bucket = 63 - __builtin_clzll(us);
    counter_add(&part->latency_us_log2[bucket < RTRCU_LATENCY_BUCKETS ? bucket : RTRCU_LATENCY_BUCKETS - 1], 1);
}

/* Move ready callbacks into the batch.  Does nothing if the queues lock is taken and @may_wait is false. */
static void refill(struct callback *cb, struct reader_record *record, bool may_wait)
{
    int64_t oldest_ns = 0;
    struct reader_leaf *leaf = reader_leaf_of(record);
    struct callback_slot *slot = callback_slot(record);
    struct cb_queue *queue = &slot->queue;

    if (may_wait)
        callback_queues_lock(leaf);
    else if (!callback_queues_try_lock(leaf))
        return;

    if (queue->ready.first) {
        oldest_ns = rtrcu_load_relaxed(&slot->oldest_ready_ns);
        rtrcu_store_relaxed(&slot->oldest_ready_ns, 0);
        if (!queue->batch.first)
            rtrcu_store_relaxed(&slot->batch_ns, oldest_ns);
    }

    cbqueue_join(&queue->batch, queue->ready);
    queue->ready = (struct cb_chain){NULL, NULL};

    if (!queue->batch.first) {
        bool was_busy = callback_is_busy(record);
        rtrcu_store_relaxed(&slot->batch_ns, 0);
        rtrcu_store_release(&queue->has_ready, 0);
        callback_bits_clear(&callback_leaf(reader_leaf_of(record))->ready, reader_bit(record));
        callback_bound_count(cb, record, was_busy);
    }

    callback_queues_unlock(leaf);

    if (oldest_ns)
        sample_latency(callback_leaf(leaf), plat_clock_now() - oldest_ns);
}

void callback_release_slot(struct reader_record *record)
{
    struct callback_slot *slot = callback_slot(record);
    reader_must_hold(reader_leaf_of(record));

    if (rtrcu_load_acquire(&slot->free_done) != rtrcu_load_relaxed(&slot->free_queued))
        return;
    if (cbqueue_pending(&slot->queue) != 0 || rtrcu_load_acquire(&slot->queue.claim) != 0)
        return;

    /* Reset the values only while the slot drains: later it may belong to the next thread, which takes the slot without
     * this lock. */
    if (reader_is_draining(record)) {
        callback_set_deadline(record, 0);
        rtrcu_store_relaxed(&slot->calls, CALLBACK_NEVER_CALLED);
        rtrcu_store_relaxed(&slot->throttled_until_ns, 0);
    }

    reader_release_slot(record, READER_CALLBACK);
}

/* The claim that the calling thread holds.  Meanwhile the thread cannot be cancelled: it would leave a callback half
 * done. */
struct claim {
    struct callback *cb;
    struct callback_slot *slot;
    int cancel;
    bool *wanted; /* set when the claim ends: did another thread want it? */
};

/* Release the claim; also when a callback throws, or ends its thread: that callback counts as returned, and the
 * callbacks after it stay at the head of the batch. */
static void release_claim(struct claim *claim)
{
    struct callback_slot *slot = claim->slot;
    struct cb_queue *queue = &slot->queue;
    reader_self_clear(READER_STATE_CALLBACK);

    rtrcu_store_release(&queue->invoked, queue->started);
    rtrcu_store_release(&slot->free_done, rtrcu_load_relaxed(&slot->free_started));
    callback_bound_return(claim->cb, slot);

    uint32_t before = rtrcu_exchange(&queue->claim, 0); /* [O23] */
    invariant("INV-CA1", plat_tid_is(cbqueue_claimer(before), lock_thread_id()));

    *claim->wanted = before & CB_CLAIM_WANTED;
    plat_cancel_restore(claim->cancel);
}

/* [O23] Daemon half, after the daemon has unlisted the queue; the half of the claim's holder is release_claim().
 *  - Our mark first:  release_claim() sees the mark and notifies the driver, which finds the queue unlisted;
 *  - The holder's release first:  we find no claim, and the daemon lists the queue again.
 * Forbidden: the daemon leaves the queue to the claim's holder AND the holder does not notify the driver. */
bool callback_want(struct reader_record *record)
{
    uint32_t *claim = &callback_slot(record)->queue.claim, seen = rtrcu_load_relaxed(claim);
    while (seen && !rtrcu_compare_exchange(claim, &seen, seen | CB_CLAIM_WANTED))
        ; /* each failure means that another thread holds the claim now, or that the claim has ended */
    return seen != 0;
}

static void run_claimed(struct callback *cb, struct reader_record *record, const struct callback_budget *budget,
                        struct callback_run *run)
{
    struct cb_queue *queue = &callback_slot(record)->queue;
    struct claim claim __attribute__((cleanup(release_claim))) = {
        .cb = cb, .slot = callback_slot(record), .cancel = plat_cancel_hold(), .wanted = &run->wanted};
    reader_self_set(READER_STATE_CALLBACK);

    while (run->done < budget->count_max) { /* again if callbacks became ready meanwhile */
        if (!queue->batch.first)
            refill(cb, record, budget->may_wait);

        struct callback_budget rest = *budget;
        uint64_t before = run->done;
        rest.count_max -= before;
        rest.sure -= before < rest.sure ? before : rest.sure;
        run_batch(cb, record, &rest, run);

        if (run->done == before || queue->batch.first)
            break;
    }

    if (!queue->batch.first)
        refill(cb, record, budget->may_wait);
}

void callback_thread_ends(struct callback *cb)
{
    if (!reader_self_is(READER_STATE_CALLBACK))
        return;

    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_leaf(cb->registry, leaf));) {
        struct reader_record *record;
        for (uint32_t left = READER_ALL_SLOTS; (record = reader_next(leaf, &left));) {
            struct callback_slot *at = callback_slot(record);
            bool wanted;
            if (plat_tid_is(cbqueue_claimer(rtrcu_load_relaxed(&at->queue.claim)), lock_thread_id()))
                release_claim(&(struct claim){.cb = cb, .slot = at, .cancel = plat_cancel_hold(), .wanted = &wanted});
        }
    }
}

static bool take_claim(struct cb_queue *queue)
{
    uint32_t nobody = 0;
    return rtrcu_compare_exchange(&queue->claim, &nobody, lock_thread_number());
}

struct callback_run callback_invoke(struct callback *cb, struct reader_record *record,
                                    const struct callback_budget *budget)
{
    struct callback_run run = {.claimed = !take_claim(&callback_slot(record)->queue)};
    if (!run.claimed)
        run_claimed(cb, record, budget, &run);
    if (budget->by_owner && run.done)
        counter_add(&callback_leaf(reader_leaf_of(record))->by_owner, run.done);
    return run;
}

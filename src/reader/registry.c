/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Slots and leaves: taken without a lock, published, withdrawn, freed.
 *
 * tested by: test/unit/reader/reader.cc
 */
#include "reader/reader.h"

void reader_leaf_init(struct reader_leaf *leaf)
{
    lock_init(&leaf->lock, LOCK_RANK_LEAF);
    for (uint32_t slot = 0; slot < READER_FANOUT; slot++) {
        leaf->record[slot].leaf = leaf;
        leaf->record[slot].slot = slot;
    }
}

void reader_registry_init(struct reader_registry *registry, const struct reader_plan *plan, void *first)
{
    registry->plan = *plan;

    registry->leaf[0] = plan->lay_out(first);
    registry->leaf[0]->scanned.above = reader_counts_above(&registry->counts, 0);
    registry->leaf[0]->used = 1; /* slot 0 belongs to the shared record */
    registry->leaf_count = 1;
}

static struct reader_record *take_in_leaf(struct reader_leaf *leaf)
{
    uint32_t used = rtrcu_load_relaxed(&leaf->used);
    while (used != UINT32_MAX) { /* each failure means that another thread took or returned a slot */
        uint32_t slot = (uint32_t)__builtin_ctz(~used);
        if (rtrcu_compare_exchange(&leaf->used, &used, used | UINT32_C(1) << slot))
            return &leaf->record[slot];
    }
    return NULL;
}

static void raise_leaf_count(struct reader_registry *registry, uint32_t count)
{
    uint32_t seen = rtrcu_load_relaxed(&registry->leaf_count);
    while (seen < count && !rtrcu_compare_exchange(&registry->leaf_count, &seen, count))
        ;
}

/* Link a new leaf after the last one.  False: another thread has linked one there meanwhile. */
static bool link_leaf(struct reader_registry *registry, uint32_t index, void *pages)
{
    struct reader_leaf *leaf = registry->plan.lay_out(pages), *expected = NULL;
    leaf->index = index;
    leaf->scanned.above = reader_counts_above(&registry->counts, index);

    bool hung = rtrcu_compare_exchange(&registry->leaf[index], &expected, leaf);
    raise_leaf_count(registry, index + 1);
    return hung;
}

/* Searches all leaves for a free slot, and adds a leaf if there is none.  If several threads add a leaf at the same
 * time, one succeeds, and the others search its leaf. */
struct reader_record *reader_slot_take(struct reader_registry *registry)
{
    struct reader_record *record = NULL;
    void *pages = NULL;

    for (;;) { /* each iteration past the first has a new leaf to search */
        uint32_t count = reader_leaf_count(registry);
        for (uint32_t i = 0; i < count && !record; i++)
            record = take_in_leaf(reader_leaf_at(registry, i));

        if (record || count == READER_LEAVES)
            break;
        if (!pages && !(pages = plat_mem_pages(registry->plan.bytes)))
            break;

        if (link_leaf(registry, count, pages))
            pages = NULL;
    }

    if (pages)
        plat_mem_release(pages, registry->plan.bytes);
    return record;
}

/* Publish whether the calling thread has the quiescent-state discipline.  A hint: it lets gp_needs_fence() skip the
 * words of preemptible threads. */
static void show_discipline(const struct reader_record *record, bool quiescent)
{
    uint32_t *slots = &record->leaf->quiescent, bit = reader_bit(record);
    bool shown = rtrcu_load_relaxed(slots) & bit;
    if (quiescent && !shown)
        rtrcu_fetch_or(slots, bit);
    if (!quiescent && shown)
        rtrcu_fetch_and(slots, ~bit);
}

/* Publish whether the calling thread is a deadline thread, which scans then never make idle: they read this bit after
 * their fence.  [O26] */
static void show_deadline(bool deadline, bool qsbr)
{
    reader_deadline_show(reader_self(), deadline, qsbr);
    if (!deadline)
        return;

    reader_slow_begin();
    reader_idle_exit();
    reader_slow_end();
}

void reader_self_register_as(struct reader_registry *registry, unsigned int flags)
{
    bool deadline = flags & RTRCU_DEADLINE, was_deadline = reader_self_is(READER_STATE_DEADLINE);

    show_deadline(deadline, flags & RTRCU_QSBR);
    show_discipline(reader_self(), flags & RTRCU_QSBR);

    if (deadline != was_deadline)
        rtrcu_fetch_add(&registry->deadline_count, deadline ? 1 : (uint32_t)-1);

    reader_self_clear(READER_STATE_DEADLINE | READER_STATE_QSBR);
    reader_self_set((deadline ? READER_STATE_DEADLINE : 0) | (flags & RTRCU_QSBR ? READER_STATE_QSBR : 0));
}

int reader_exit_arm(const struct reader_registry *registry)
{
    return plat_thread_exit_arm(registry->exit_key, &rtrcu_self);
}

int reader_exit_reserve(const struct reader_registry *registry)
{
    return plat_thread_exit_reserve(registry->exit_key, &rtrcu_self);
}

void reader_slot_return(struct reader_record *record)
{
    rtrcu_fetch_and(&record->leaf->used, ~reader_bit(record));
}

static void raise_peak(struct reader_registry *registry, uint32_t now)
{
    uint32_t peak = rtrcu_load_relaxed(&registry->registered_peak);
    while (now > peak && !rtrcu_compare_exchange(&registry->registered_peak, &peak, now))
        ; /* each failure means that another thread has raised the peak */
}

/* [O6] Registration half; the scan's half is in gp_scan().
 *  - Our bit first:  the scan sees the record and reads our word;
 *  - The scan's fence first:  our fence follows the scan's, so our sections read the new pointers.
 * Forbidden: the scan misses the record AND a section of ours reads an old pointer.
 * [O12] Our fence also pairs with callback_direct(), which counts us, or we find the updater's object unlinked.
 * [O7] Our fence also pairs with reader_fences_switch(), which sees our bit, or we see the new mode. */
void reader_publish(struct reader_registry *registry, struct reader_record *record, struct rtrcu_thread *self)
{
    record->self = self;
    record->cpu = plat_cpu_address();
    rtrcu_store_relaxed(&record->thread_id, lock_thread_number());
    rtrcu_store_relaxed(&record->fence_ack, 0);
    reader_word_register(self); /* in full-fence mode the flag stays set [O7] */

    self->record = record;
    self->boost = &record->boost;

    raise_peak(registry, rtrcu_fetch_add(&registry->registered, 1) + 1);

    (void)reader_scanned_add(&record->leaf->scanned, reader_bit(record)); /* [O20] */
    rtrcu_fetch_or(&record->leaf->registered, reader_bit(record));
    rtrcu_fence_full();

    uint32_t mode = rtrcu_load_relaxed(&registry->fence_mode);
    if (mode & 1) /* no slow path with a record can be in progress, so the flag stays set */
        rtrcu_store_release(&record->fence_ack, mode);
}

void reader_withdraw(struct reader_registry *registry, struct reader_record *record)
{
    struct rtrcu_thread *self = record->self;
    reader_must_hold(record->leaf);

    rtrcu_fetch_and(&record->leaf->registered, ~reader_bit(record));
    reader_scanned_clear(&record->leaf->scanned, reader_bit(record));

    record->leaf->draining |= reader_bit(record);
    for (int room = 0; room < READER_HOLDERS; room++)
        record->leaf->held[room] |= reader_bit(record);

    reader_word_unregister(self);
    record->outside_scans = 0;
    self->record = NULL;
    record->self = NULL;
    record->cpu = NULL;

    rtrcu_fetch_add(&registry->registered, (uint32_t)-1);
}

void reader_release_slot(struct reader_record *record, enum reader_room room)
{
    struct reader_leaf *leaf = record->leaf;
    uint32_t bit = reader_bit(record), held = 0;
    reader_must_hold(leaf);

    leaf->held[room] &= ~bit;
    for (int other = 0; other < READER_HOLDERS; other++)
        held |= leaf->held[other];

    if (!(leaf->draining & bit) || (held & bit))
        return;

    invariant("INV-RD1", rtrcu_load_relaxed(&leaf->used) & bit);
    leaf->draining &= ~bit;
    rtrcu_fetch_and(&leaf->used, ~bit);
}

void reader_stats(struct reader_registry *registry, struct rtrcu_stats *stats)
{
    stats->full_fences = reader_fences_are_full(registry);
    stats->threads_registered = rtrcu_load_relaxed(&registry->registered);
    stats->threads_peak = rtrcu_load_relaxed(&registry->registered_peak);
    stats->threads_deadline = rtrcu_load_relaxed(&registry->deadline_count);

    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_leaf(registry, leaf));) {
        stats->threads_slept += counter_read(&leaf->scanned.slept);
        stats->threads_woken += counter_read(&leaf->scanned.woken);
        for (uint32_t slot = 0; slot < READER_FANOUT; slot++)
            stats->slow_locks += counter_read(&leaf->record[slot].slow_calls);
    }
}

struct reader_call reader_waits(const struct reader_record *record)
{
    return (struct reader_call){rtrcu_load_relaxed(&record->self->waits_in),
                                rtrcu_load_relaxed(&record->self->waits_from)};
}

static const struct inspect_field fields[] = {
    INSPECT_ARRAY("registry.leaf", struct reader_registry, leaf),
    INSPECT_FIELD("registry.leaf_count", struct reader_registry, leaf_count),
    INSPECT_FIELD("registry.fence_mode", struct reader_registry, fence_mode),
    INSPECT_FIELD("registry.anonymous", struct reader_registry, anonymous),
    INSPECT_FIELD("registry.registered", struct reader_registry, registered),
    INSPECT_FIELD("registry.registered_peak", struct reader_registry, registered_peak),
    INSPECT_FIELD("registry.deadline_count", struct reader_registry, deadline_count),
    INSPECT_FIELD("leaf.used", struct reader_leaf, used),
    INSPECT_FIELD("leaf.registered", struct reader_leaf, registered),
    INSPECT_ARRAY("leaf.deadline", struct reader_leaf, deadline),
    INSPECT_FIELD("leaf.slept", struct reader_leaf, scanned.slept),
    INSPECT_FIELD("leaf.woken", struct reader_leaf, scanned.woken),
    INSPECT_FIELD("leaf.parked", struct reader_leaf, of[READER_PARKED]),
    INSPECT_FIELD("leaf.callback", struct reader_leaf, of[READER_CALLBACK]),
    INSPECT_FIELD("leaf.turn", struct reader_leaf, of[READER_TURN]),
    INSPECT_ARRAY("leaf.record", struct reader_leaf, record),
    INSPECT_FIELD("record.self", struct reader_record, self),
    INSPECT_FIELD("record.thread_id", struct reader_record, thread_id),
    INSPECT_FIELD("record.boost", struct reader_record, boost),
    INSPECT_FIELD("record.slow_calls", struct reader_record, slow_calls),
    INSPECT_FIELD("thread.word", struct rtrcu_thread, word),
    INSPECT_FIELD("thread.state", struct rtrcu_thread, state),
    INSPECT_FIELD("thread.entered", struct rtrcu_thread, entered),
    INSPECT_FIELD("thread.entered_ns", struct rtrcu_thread, entered_ns),
};

const struct inspect_table reader_inspect_table = INSPECT_TABLE(fields);

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Slots and leaves: taken without a lock, published, withdrawn, freed.
 *
 * tested by: test/unit/reader/reader.cc
 */
#include "reader/reader.h"

/* Where in a grown leaf's memory its records begin. */
#define LEAF_RECORDS_AT ((sizeof(struct reader_leaf) + BASE_CACHE_LINE - 1) & ~(size_t)(BASE_CACHE_LINE - 1))

static void leaf_init(struct reader_leaf *leaf, uint32_t index, struct reader_record *records)
{
    lock_init(&leaf->lock, LOCK_RANK_LEAF);
    leaf->index = index;
    leaf->records = records;
    for (int kind = 0; kind < READER_KINDS; kind++)
        leaf->boundary_position[kind] = INT64_MAX;
    for (uint32_t slot = 0; slot < READER_FANOUT; slot++) {
        records[slot].leaf = leaf;
        lock_init(&records[slot].tasks_lock, LOCK_RANK_TASKS);
        records[slot].slot = slot;
        cbqueue_init(&records[slot].queue);
    }
}

void reader_registry_init(struct reader_registry *registry)
{
    leaf_init(&registry->first_leaf, 0, registry->first_records);
    registry->first_leaf.used = 1; /* the orphan's slot */
    registry->leaf[0] = &registry->first_leaf;
    registry->leaf_count = 1;
}

static struct reader_record *take_in_leaf(struct reader_leaf *leaf)
{
    uint32_t used = rtrcu_load_relaxed(&leaf->used);
    while (used != UINT32_MAX) { /* each failure means that another thread got a slot or gave one back */
        uint32_t slot = (uint32_t)__builtin_ctz(~used);
        if (rtrcu_compare_exchange(&leaf->used, &used, used | UINT32_C(1) << slot))
            return &leaf->records[slot];
    }
    return NULL;
}

static void raise_leaf_count(struct reader_registry *registry, uint32_t count)
{
    uint32_t seen = rtrcu_load_relaxed(&registry->leaf_count);
    while (seen < count && !rtrcu_compare_exchange(&registry->leaf_count, &seen, count))
        ;
}

/* A leaf and its records lie in one piece. */
static size_t leaf_bytes(void)
{
    return LEAF_RECORDS_AT + READER_FANOUT * sizeof(struct reader_record);
}

/* Hang a new leaf behind the last one.  False: somebody else has hung one there meanwhile. */
static bool hang(struct reader_registry *registry, uint32_t index, char *pages)
{
    struct reader_leaf *leaf = (struct reader_leaf *)pages, *expected = NULL;
    leaf_init(leaf, index, (struct reader_record *)(pages + LEAF_RECORDS_AT));
    bool hung = rtrcu_compare_exchange(&registry->leaf[index], &expected, leaf);
    raise_leaf_count(registry, index + 1);
    return hung;
}

/* Threads that find everything taken at once hang one leaf, not one each: who loses looks into the winner's. */
struct reader_record *reader_slot_take(struct reader_registry *registry)
{
    struct reader_record *record = NULL;
    char *pages = NULL;
    for (;;) { /* each turn past the first has a new leaf to look at */
        uint32_t count = reader_leaf_count(registry);
        for (uint32_t i = 0; i < count && !record; i++) {
            struct reader_leaf *leaf = reader_leaf_at(registry, i);
            record = leaf ? take_in_leaf(leaf) : NULL;
        }
        if (record || count == READER_LEAVES)
            break;
        if (!pages && !(pages = plat_mem_pages(leaf_bytes())))
            break;
        if (hang(registry, count, pages))
            pages = NULL;
    }
    if (pages)
        plat_mem_release(pages, leaf_bytes());
    return record;
}

/* [O6] Registration half; the scan's half is in gp_scan().
 *  - our bit first:       the scan sees the record and reads our word;
 *  - its fence first:     our fence follows it, so our sections read the new pointers.
 * Forbidden: the scan misses the record AND a section of ours reads an old pointer.   litmus: O6
 * The same fence pairs with callback_direct(): it counts us, or we find its object unlinked. [O12]
 * And with reader_fences_switch(): either it sees our bit, or we see the mode. [O7] */
void reader_publish(struct reader_registry *registry, struct reader_record *record, struct rtrcu_thread *self)
{
    record->self = self;
    record->cpu = plat_cpu_address();
    record->thread_id = lock_thread_id();
    record->registered_ns = plat_clock_now();
    record->deadline_ns = 0;
    rtrcu_store_relaxed(&record->fence_ack, 0);
    rtrcu_word_register(self); /* in full-fence mode it stays so [O7] */
    self->record = record;
    self->lent = &record->lent;
    uint32_t now = rtrcu_fetch_add(&registry->registered, 1) + 1;
    if (now > rtrcu_load_relaxed(&registry->registered_peak))
        rtrcu_store_relaxed(&registry->registered_peak, now);
    rtrcu_fetch_or(&record->leaf->registered, reader_bit(record));
    rtrcu_fence_full();
    uint32_t mode = rtrcu_load_relaxed(&registry->fence_mode);
    if (mode & 1) /* no slow path with a record can be under way, so the flag stays */
        rtrcu_store_release(&record->fence_ack, mode);
}

void reader_withdraw(struct reader_registry *registry, struct reader_record *record)
{
    struct rtrcu_thread *self = record->self;
    must_hold(&record->leaf->lock);
    rtrcu_fetch_and(&record->leaf->registered, ~reader_bit(record));
    record->leaf->draining |= reader_bit(record);
    rtrcu_word_unregister(self);
    self->record = NULL;
    record->self = NULL;
    record->cpu = NULL;
    rtrcu_fetch_add(&registry->registered, (uint32_t)-1);
}

void reader_slot_free(struct reader_record *record)
{
    must_hold(&record->leaf->lock);
    struct cb_queue *queue = &record->queue;
    if (!(record->leaf->draining & reader_bit(record)) || rtrcu_load_acquire(&record->listed))
        return; /* free, the orphan's, somebody's, or about to be */
    if (rtrcu_load_acquire(&record->free_done) != rtrcu_load_relaxed(&record->free_queued))
        return;
    if (cbqueue_pending(queue) != 0 || rtrcu_load_acquire(&queue->claim) != 0)
        return;
    invariant("INV-RD1", rtrcu_load_relaxed(&record->leaf->used) & reader_bit(record));
    record->leaf->draining &= ~reader_bit(record);
    rtrcu_fetch_and(&record->leaf->used, ~reader_bit(record));
}

void reader_after_fork(struct reader_registry *registry, struct reader_record *survivor)
{
    registry->fence_confirmer = 0;
    registry->anonymous = (rtrcu_self.state & READER_STATE_ANONYMOUS ? 1 : 0) + registry->anonymous_parked;
    for (const struct rcu_task *task = rtrcu_self.task; task; task = task->below) /* as many as run on this thread */
        registry->anonymous += !task->record && !task->leaf;
    registry->registered = survivor ? 1 : 0;
    registry->deadline_count = survivor && (rtrcu_self.state & READER_STATE_DEADLINE) ? 1 : 0;
    for (uint32_t i = 0; i < reader_leaf_count(registry); i++) {
        struct reader_leaf *leaf = reader_leaf_at(registry, i);
        if (!leaf)
            continue;
        lock_reset(&leaf->lock);
        leaf->registered = survivor && survivor->leaf == leaf ? reader_bit(survivor) : 0;
        leaf->deadline[0] &= leaf->registered;
        leaf->deadline[1] &= leaf->registered;
        leaf->draining = leaf->used & ~leaf->registered & ~(i == 0 ? 1u : 0u); /* the orphan's slot is nobody's */
        for (uint32_t slot = 0; slot < READER_FANOUT; slot++) {
            if (&leaf->records[slot] == survivor)
                continue;
            leaf->records[slot].self = NULL;
            leaf->records[slot].cpu = NULL;
            leaf->records[slot].lent = leaf->records[slot].lender = 0;
        }
    }
    if (survivor) {
        survivor->thread_id = lock_thread_id();
        survivor->lent = survivor->lender = 0;
    }
}

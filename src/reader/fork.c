/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Repair of records and leaves in a fork's child.  No lock of this room is held across a fork.  The child keeps each
 * leaf's words and derives the rest: its only reader is the thread that forked.
 *
 * tested by: test/api/fork.cc
 */
#include "reader/reader.h"

static void keep_survivor_after_fork(struct reader_leaf *leaf, const struct reader_record *survivor)
{
    struct reader_record *record;
    uint32_t shared = leaf->index == 0 ? 1 : 0; /* the shared record's slot belongs to no thread */
    lock_reset(&leaf->lock);

    leaf->registered = survivor && survivor->leaf == leaf ? reader_bit(survivor) : 0;
    leaf->deadline[0] &= leaf->registered;
    leaf->deadline[1] &= leaf->registered;
    rtrcu_store_relaxed(&leaf->quiescent, rtrcu_load_relaxed(&leaf->quiescent) & leaf->registered);
    reader_scanned_forget(&leaf->scanned, leaf->registered);

    leaf->draining = leaf->used & ~leaf->registered & ~shared;
    for (int room = 0; room < READER_HOLDERS; room++)
        leaf->held[room] = leaf->draining;

    for (uint32_t left = READER_ALL_SLOTS; (record = reader_next(leaf, &left));) {
        record->boost = 0;
        if (record == survivor)
            continue;
        record->self = NULL;
        record->cpu = NULL;
    }
}

/* Set the counts of readers without a record to the thread that forked, if it is one.  Parked tasks need no count:
 * parked/ puts them on lists. */
static void keep_anonymous(struct reader_registry *registry)
{
    rtrcu_store_relaxed(&registry->anonymous, 0);
    for (uint32_t phase = 0; phase < READER_PHASES; phase++)
        rtrcu_store_relaxed(&registry->anonymous_in[phase], 0);
    if (rtrcu_self.state & READER_STATE_ANONYMOUS)
        reader_anonymous_enter(registry, reader_self_phase(registry));
}

void reader_after_fork_child(struct reader_registry *registry, struct reader_record *survivor)
{
    registry->fence_confirmer = 0;
    keep_anonymous(registry);

    registry->registered = survivor ? 1 : 0;
    registry->deadline_count = survivor && (rtrcu_self.state & READER_STATE_DEADLINE) ? 1 : 0;
    reader_counts_forget(&registry->counts, reader_leaf_count(registry));

    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_leaf(registry, leaf));)
        keep_survivor_after_fork(leaf, survivor);
    if (survivor)
        survivor->thread_id = lock_thread_number();
}

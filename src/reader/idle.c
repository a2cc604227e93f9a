/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Idle threads: threads that have not read for a while, which scans skip until they read again.
 *
 * tested by: test/unit/reader/idle.cc
 */
#include "reader/reader.h"

/* [O20] For a handler that interrupted a slow path: that path has set the scanned bit, but may not have fenced. */
static void fence_for_interrupted(void)
{
    rtrcu_fence_full();
}

/* [O26] Owner half; the scan's is reader_idle_propose(), a heavy fence, and reader_idle_confirmed().  The owner counts
 * its slow path, then checks whether its scanned bit is set.
 *  - Our slow path first:  the scan sees our slow path in progress, or its effect on the word, and we stay scanned;
 *  - The scan's fence first:  we find ourselves not scanned, and set the bit.
 * Forbidden: the scan takes us for idle AND we take ourselves for scanned.
 * [O20] A thread that ends its idleness fences fully before it reads anything. */
void reader_idle_exit(void)
{
    const struct reader_record *record = rtrcu_self.record;
    invariant("INV-RD2", rtrcu_self.slow != 0);

    if (!record)
        return;

    if (!reader_scanned_is_set(&record->leaf->scanned, reader_bit(record))) {
        reader_counts_prefetch(&record->leaf->scanned, record->leaf->index);
        bool slept = reader_scanned_add(&record->leaf->scanned, reader_bit(record)); /* [O20] */
        rtrcu_fence_full();
        (void)counter_add(&record->leaf->scanned.woken, slept);
    } else if (rtrcu_self.slow > 1) {
        fence_for_interrupted();
    }
}

bool reader_count_scan(struct reader_record *record, bool inside, uint32_t scans)
{
    reader_must_hold(record->leaf);
    uint32_t outside_scans = inside ? 0 : record->outside_scans + (record->outside_scans < scans);
    if (outside_scans != record->outside_scans)
        record->outside_scans = outside_scans;
    return outside_scans >= scans;
}

/* [O26] Scan half, before its fence: the scanned bits are cleared, and the flag is set. */
bool reader_idle_propose(struct reader_leaf *leaf, uint32_t scans)
{
    struct reader_record *record;
    uint32_t leave = 0;
    reader_must_hold(leaf);

    for (uint32_t left = reader_scanned_slots(leaf) & ~reader_never_idle(leaf); (record = reader_next(leaf, &left));)
        leave |= record->outside_scans >= scans ? reader_bit(record) : 0;
    if (!leave)
        return false;

    reader_scanned_propose(&leaf->scanned, leave);
    while ((record = reader_next(leaf, &leave))) {
        (void)reader_arm(record);
        record->proposed_armed = record->armed;
    }
    return true;
}

/* [O26] Scan half, after its fence.  A flag that another thread has set after the fence is no proof: an update by
 * the owner at the same time may overwrite that flag. */
bool reader_idle_confirmed(const struct reader_record *record)
{
    reader_must_hold(record->leaf);

    if (rtrcu_load_acquire(&record->self->slow) != 0)
        return false;

    struct reader_word word = reader_word_of(record->self);
    bool special = reader_word_is_special(word), outside = reader_word_inside(word) == 0;
    if (!special || !outside || record->armed != record->proposed_armed)
        return false;

    return !(reader_never_idle(record->leaf) & reader_bit(record));
}

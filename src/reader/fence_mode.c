/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From light fences to full ones and back, while readers run.
 *
 * In full-fence mode the flag of every reader stays set, so that lock and unlock take their slow paths, which fence.
 * A grace period may rely on that, and do without a heavy fence, once every reader is known to: the mode is confirmed.
 *
 *  fence_mode        even: light.  Odd: full.  Each change raises it: what was said of an old mode means nothing
 *  fence_confirmed   the mode for which the last confirmation was reached
 *  record.fence_ack  the mode that its owner has acknowledged; READER_FENCES_ANY while the owner is away
 *
 * A reader is confirmed by its own word, or by a visit to every CPU between two looks at its flag.  The flag must have
 * stood there since before the visit: one that another thread has set behind it may still be swallowed by an update of
 * the owner under way, and record.armed tells (it counts what other threads set).
 * tested by: test/unit/reader/fence_mode.cc
 */
#include "reader/reader.h"

void reader_fences_start_full(struct reader_registry *registry)
{
    rtrcu_store_relaxed(&registry->fence_mode, 1);
    rtrcu_store_relaxed(&registry->fence_confirmed, 1);
}

/* [O7] Switching half; the readers' halves are reader_publish() and section's slow paths.
 *  - a slow path began before the visit:  rtrcu_thread.slow shows it, and it is not confirmed yet; or it is over, and
 *                                         the flag, which is read last, shows whether it disarmed;
 *  - it began after:                      it reads the new mode and fences.
 * Forbidden: confirmed AND a later section without a fence. */
void reader_fences_switch(struct reader_registry *registry)
{
    uint32_t mode = rtrcu_load_relaxed(&registry->fence_mode);
    while (!(mode & 1) && !rtrcu_compare_exchange(&registry->fence_mode, &mode, mode + 1))
        ; /* each failure means that another thread has changed it */
}

/* One thread at a time: what it remembers of each reader lies in the reader's record. */
bool reader_fences_visit_begin(struct reader_registry *registry)
{
    uint32_t nobody = 0;
    if (!rtrcu_compare_exchange(&registry->fence_confirmer, &nobody, lock_thread_number()))
        return false;

    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_leaf(registry, leaf));) {
        struct reader_record *record;
        reader_lock(leaf);
        for (uint32_t left = reader_registered(leaf); (record = reader_next(leaf, &left));) {
            (void)reader_arm(record);
            record->fence_armed = record->armed;
        }
        reader_unlock(leaf);
    }
    return true;
}

/* One reader.  [O19] Confirming half: the mode was stored, then the acknowledgment is read. */
static bool confirm_record(struct reader_record *record, uint32_t mode, bool visited)
{
    bool quiet = rtrcu_load_acquire(&record->self->slow) == 0;
    uint32_t acknowledged = rtrcu_load_acquire(&record->fence_ack);
    bool kept = !reader_arm(record); /* behind both loads: what an older slow path did to the flag is seen */

    if (acknowledged == mode || acknowledged == READER_FENCES_ANY)
        return kept;
    return visited && quiet && kept && record->fence_armed == record->armed;
}

bool reader_fences_confirm(struct reader_registry *registry, uint32_t mode, bool visited)
{
    bool confirmed = true;
    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_leaf(registry, leaf));) {
        struct reader_record *record;
        reader_lock(leaf);
        for (uint32_t left = reader_registered(leaf); (record = reader_next(leaf, &left));)
            confirmed &= confirm_record(record, mode, visited);
        reader_unlock(leaf);
    }

    if (confirmed)
        rtrcu_store_release(&registry->fence_confirmed, mode);
    return confirmed;
}

void reader_fences_visit_end(struct reader_registry *registry)
{
    rtrcu_store_release(&registry->fence_confirmer, 0);
}

void reader_fences_restore(struct reader_registry *registry)
{
    uint32_t mode = rtrcu_load_relaxed(&registry->fence_mode);
    while ((mode & 1) && !rtrcu_compare_exchange(&registry->fence_mode, &mode, mode + 1))
        ; /* each failure means that another thread has changed it */
}

/* The flag is the owner's own, so no update of the owner can lose it; only the owner takes it back, and reads the mode
 * before. */
static void acknowledge(struct reader_record *record, uint32_t mode)
{
    if (rtrcu_load_relaxed(&record->fence_ack) == mode)
        return;
    reader_arm_self();
    rtrcu_fence_full();
    rtrcu_store_release(&record->fence_ack, mode);
}

/* A slow path of this thread that was interrupted may have read the old mode, and may still take the flag back. */
void reader_fences_acknowledge(struct reader_registry *registry)
{
    uint32_t mode = rtrcu_load_relaxed(&registry->fence_mode);
    if ((mode & 1) && rtrcu_self.record && rtrcu_self.slow == 0 && !(rtrcu_self.state & READER_STATE_ASLEEP))
        acknowledge(rtrcu_self.record, mode);
}

/* In full-fence mode the flag stays: it is what makes readers fence.  The first slow path of a thread in that mode says
 * so, unless it interrupts an older one, which may have read the old mode and may still disarm. [O7] */
void reader_disarm(struct reader_registry *registry)
{
    struct reader_record *record = rtrcu_self.record;
    bool asleep = rtrcu_self.state & READER_STATE_ASLEEP;
    invariant("INV-RD2", rtrcu_self.slow != 0);

    if (!asleep)
        reader_sleep_interrupted();
    uint32_t mode = asleep ? READER_FENCES_ANY : rtrcu_load_relaxed(&registry->fence_mode);

    reader_idle_exit(); /* a thread that goes back to fast says no more */
    invariant("INV-RD4", !record || (reader_scanned_slots(record->leaf) & reader_bit(record)));

    if (!(mode & 1)) {
        reader_word_disarm(); /* [O3] */
        return;
    }

    if (record && rtrcu_self.slow == 1)
        acknowledge(record, mode);
    rtrcu_fence_full();
}

bool reader_sleep_begin(void)
{
    struct reader_record *record = rtrcu_self.record;
    if (!record || rtrcu_self.slow != 0 || (rtrcu_self.state & READER_STATE_ASLEEP))
        return false;

    rtrcu_self.state |= READER_STATE_ASLEEP;
    acknowledge(record, READER_FENCES_ANY);
    return true;
}

/* [O19] Owner half; confirm_record() is the other.  The acknowledgment is taken back, then the mode is read.
 *  - our store first:  the other sees that we are not away, and does not confirm by it;
 *  - its load first:   the mode was stored before, and we read it and fence.
 * Forbidden: it confirms because we are away, AND a section of ours does not fence. */
void reader_sleep_interrupted(void)
{
    struct reader_record *record = rtrcu_self.record;
    if (!record || rtrcu_load_relaxed(&record->fence_ack) != READER_FENCES_ANY)
        return;

    rtrcu_store_relaxed(&record->fence_ack, 0);
    rtrcu_fence_full();
}

void reader_sleep_end(struct reader_registry *registry)
{
    rtrcu_self.state &= ~(uint32_t)READER_STATE_ASLEEP;
    rtrcu_fence_light(); /* a handler from here on must not leave the acknowledgment behind it */
    reader_sleep_interrupted();
    reader_fences_acknowledge(registry); /* a switch meanwhile need not wait for the next slow path */
}

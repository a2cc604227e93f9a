/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The switch from light fences to full fences and back, while readers run.
 *
 * In full-fence mode the flag of every reader stays set, so that lock and unlock take their slow paths, which fence.
 * Once every reader is known to do so, the mode is confirmed, and grace periods issue no heavy fence.
 *
 *  fence_mode        even: light.  Odd: full.  Incremented at each change, which makes earlier acknowledgments void
 *  fence_confirmed   the mode that was confirmed last
 *  record.fence_ack  the mode that its owner has acknowledged; READER_FENCES_ANY while the owner is asleep
 *
 * A reader is confirmed by its own acknowledgment, or by a visit to every CPU between two reads of its flag.  The flag
 * must have been set since before the visit: an update of the owner may still overwrite a flag that another thread set
 * later.  record.armed, which counts how often other threads have set the flag, shows whether that was later.
 * tested by: test/unit/reader/fence_mode.cc
 */
#include "reader/reader.h"

void reader_fences_start_full(struct reader_registry *registry)
{
    rtrcu_store_relaxed(&registry->fence_mode, 1);
    rtrcu_store_relaxed(&registry->fence_confirmed, 1);
}

/* [O7] Switching half; the readers' halves are reader_publish() and section's slow paths.
 *  - The slow path began before our visit:  rtrcu_thread.slow shows it, and we do not confirm the reader yet; or the
 *    slow path has ended, and the flag, which we read last, shows whether the slow path cleared the flag;
 *  - Our visit first:  a slow path that begins later reads the new mode and fences.
 * Forbidden: a reader is confirmed AND a later section of that reader does not fence. */
void reader_fences_switch(struct reader_registry *registry)
{
    uint32_t mode = rtrcu_load_relaxed(&registry->fence_mode);
    while (!(mode & 1) && !rtrcu_compare_exchange(&registry->fence_mode, &mode, mode + 1))
        ; /* each failure means that another thread has changed the mode */
}

/* Claims the visit: one thread at a time may perform it, since the counts are stored in the readers' records. */
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

/* Is this reader confirmed?  [O19] Confirming half; the owner's half is reader_sleep_interrupted().  The switch has
 * stored the mode, then we read the reader's acknowledgment. */
static bool confirm_record(struct reader_record *record, uint32_t mode, bool visited)
{
    bool quiet = rtrcu_load_acquire(&record->self->slow) == 0;
    uint32_t acknowledged = rtrcu_load_acquire(&record->fence_ack);
    bool kept = !reader_arm(record); /* after both loads: shows whether an older slow path cleared the flag */

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
        ; /* each failure means that another thread has changed the mode */
}

/* Store that the calling thread acknowledges @mode, after it has set its own flag.  No update overwrites that flag,
 * since only the owner updates its word; and the owner reads the mode before it clears the flag. */
static void acknowledge(struct reader_record *record, uint32_t mode)
{
    if (rtrcu_load_relaxed(&record->fence_ack) == mode)
        return;
    reader_arm_self();
    rtrcu_fence_full();
    rtrcu_store_release(&record->fence_ack, mode);
}

/* Does nothing in a handler that interrupted a slow path of this thread: that path may have read the old mode, and may
 * still clear the flag. */
void reader_fences_acknowledge(struct reader_registry *registry)
{
    uint32_t mode = rtrcu_load_relaxed(&registry->fence_mode);
    if ((mode & 1) && rtrcu_self.record && rtrcu_self.slow == 0 && !(rtrcu_self.state & READER_STATE_ASLEEP))
        acknowledge(rtrcu_self.record, mode);
}

/* In full-fence mode the flag stays set, so that readers fence.  A thread's first slow path in that mode acknowledges
 * the mode, unless that path interrupts an older slow path, which may have read the old mode and may still clear the
 * flag. [O7] */
void reader_disarm(struct reader_registry *registry)
{
    struct reader_record *record = rtrcu_self.record;
    bool asleep = rtrcu_self.state & READER_STATE_ASLEEP;
    invariant("INV-RD2", rtrcu_self.slow != 0);

    if (!asleep)
        reader_sleep_interrupted();
    uint32_t mode = asleep ? READER_FENCES_ANY : rtrcu_load_relaxed(&registry->fence_mode);

    reader_idle_exit(); /* the fast path, which may follow, does not end the thread's idleness */
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

/* [O19] Owner half; the confirming half is confirm_record().  We withdraw our acknowledgment, then read the mode.
 *  - Our store first:  confirm_record() sees that we are not asleep, and does not confirm us as asleep;
 *  - The load of confirm_record() first:  the mode was stored before that load, so we read the new mode and fence.
 * Forbidden: confirm_record() confirms us as asleep, AND a section of ours does not fence. */
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
    rtrcu_fence_light(); /* a handler from here on must not set READER_FENCES_ANY again */
    reader_sleep_interrupted();
    reader_fences_acknowledge(registry); /* now, so that a switch need not wait for this thread's next slow path */
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From light fences to full ones, once, while readers run.
 *
 * In full-fence mode the flag of every reader stays set, so that lock and unlock take their slow paths, which fence.
 * The switch must itself be fenced: a reader may be between its increment and its loads, or its update may lose the
 * flag.  So: mode, flags, a real fence (a visit to every CPU), look again; a reader that is inside its slow path at
 * that moment may have read the old mode and may still disarm, so it is not confirmed until it has left.
 * tested by: test/unit/reader/reader.cc
 */
#include "reader/reader.h"

/* [O7] Switching half; the readers' halves are reader_publish() and section's slow paths.
 *  - a slow path began before the fence:  rtrcu_thread.slow shows it, and it is not confirmed yet; or it is over, and
 *                                         the flag, which is read last, shows whether it disarmed;
 *  - it began after:                      it reads the new mode and fences.
 * Forbidden: confirmed AND a later section without a fence.   litmus: O7 */
void reader_fences_switch(struct reader_registry *registry)
{
    rtrcu_exchange(&registry->full_fences, 1);
    reader_fences_confirmed(registry, false);
}

/* One reader: armed since before the fence, or acknowledged by its owner. */
static bool confirm_record(struct reader_record *record, bool fenced)
{
    bool quiet = rtrcu_load_acquire(&record->self->slow) == 0;
    bool was_armed = !reader_arm(record); /* behind that load: what an older slow path did to the flag is seen */
    if (rtrcu_load_acquire(&record->fence_ack))
        return was_armed;
    return fenced && quiet && was_armed;
}

bool reader_fences_confirmed(struct reader_registry *registry, bool fenced)
{
    bool confirmed = true;
    for (uint32_t i = 0; i < reader_leaf_count(registry); i++) {
        struct reader_leaf *leaf = reader_leaf_at(registry, i);
        if (!leaf)
            continue;
        lock_acquire(&leaf->lock);
        uint32_t left = rtrcu_load_acquire(&leaf->registered);
        for (; left; left &= left - 1) {
            if (!confirm_record(&leaf->records[__builtin_ctz(left)], fenced))
                confirmed = false;
        }
        lock_release(&leaf->lock);
    }
    if (confirmed)
        rtrcu_store_release(&registry->fences_confirmed, 1);
    return confirmed;
}

void reader_fences_restore(struct reader_registry *registry)
{
    rtrcu_store_relaxed(&registry->fences_confirmed, 0);
    rtrcu_exchange(&registry->full_fences, 0);
    for (uint32_t i = 0; i < reader_leaf_count(registry); i++) {
        struct reader_leaf *leaf = reader_leaf_at(registry, i);
        for (uint32_t slot = 0; leaf && slot < READER_FANOUT; slot++)
            rtrcu_store_relaxed(&leaf->records[slot].fence_ack, 0);
    }
}

void reader_fences_acknowledge(void)
{
    struct reader_record *record = rtrcu_self.record;
    if (!record)
        return;
    reader_arm_self();
    rtrcu_fence_full();
    rtrcu_store_release(&record->fence_ack, 1);
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that have not read for a while leave, so that later grace periods cost by the threads that read and not by
 * those that exist.
 *
 * Only the normal machine does this, around a heavy fence, which is what proves that a thread is outside and will say
 * so before it is inside again.  Where there was none, or one that readers make themselves, nobody falls asleep.
 * tested by: test/unit/gp/idle.cc
 */
#include "gp/gp.h"

void gp_idle_propose(struct gp *gp, uint32_t scans)
{
    struct gp_machine *machine = &gp->machine[GP_NORMAL];
    must_hold(&machine->gp_lock);

    machine->idle_scans = scans;
    if (!scans || !machine->idle_possible || machine->idle_proposed)
        return;

    machine->idle_possible = false;
    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_scanned(gp->registry, leaf));) {
        reader_lock(leaf);
        machine->idle_proposed |= reader_idle_propose(leaf, scans);
        reader_unlock(leaf);
    }
}

/* What is parked on a thread's list is looked at behind its word [O14]: once nobody is awake there, the other machine
 * no longer looks for it either. */
static void settle_idle_leaf(struct reader_leaf *leaf, bool heavy)
{
    uint32_t asleep = 0;
    struct reader_record *record;

    for (uint32_t left = reader_idle_candidates(leaf); (record = reader_next(leaf, &left));) {
        if (heavy && reader_idle_confirmed(record) && parked_on_thread(record) == 0)
            asleep |= reader_bit(record);
        (void)reader_count_scan(record, true, 0); /* of a sleeper too: its scans count anew once it wakes */
    }

    reader_idle_settle(leaf, asleep);
}

void gp_idle_settle(struct gp *gp, bool fenced)
{
    struct gp_machine *machine = &gp->machine[GP_NORMAL];
    bool heavy = fenced && !reader_fences_are_full(gp->registry);

    must_hold(&machine->gp_lock);
    if (!machine->idle_proposed)
        return;

    machine->idle_proposed = false;
    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_scanned(gp->registry, leaf));) {
        if (reader_idle_candidates(leaf) == 0)
            continue;
        reader_lock(leaf);
        settle_idle_leaf(leaf, heavy);
        reader_unlock(leaf);
    }
}

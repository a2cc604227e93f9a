/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Making threads idle that do not read, so that the cost of a grace period grows with the threads that read, not with
 * all threads.
 *
 * Only the normal machine does this, around a heavy fence, which proves that a thread is outside and will take its slow
 * path before it is inside again.  Without a fence, or with one that readers issue themselves, no thread becomes idle.
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

/* Make each candidate of a leaf idle, or scanned again.  A thread with tasks on its own list does not become idle: once
 * no thread of a leaf is scanned, a scan of the other kind no longer promotes these tasks.  The list is read after the
 * word [O14]. */
static void settle_idle_leaf(struct reader_leaf *leaf, bool heavy)
{
    uint32_t asleep = 0;
    struct reader_record *record;

    for (uint32_t left = reader_idle_candidates(leaf); (record = reader_next(leaf, &left));) {
        if (heavy && reader_idle_confirmed(record) && parked_on_thread(record) == 0)
            asleep |= reader_bit(record);
        (void)reader_count_scan(record, true, 0); /* restarts outside_scans, whether or not the thread becomes idle */
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

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Questions about all readers at once, whose answer may spare a grace period its fence, or its turn.
 *
 * tested by: test/unit/gp/gp.cc
 */
#include "gp/gp.h"

/* The calling thread waits for nobody but others: it is outside, and has parked nothing here. */
static bool self_is_idle(void)
{
    const struct reader_record *record = reader_self();
    return !record || (reader_inside(record) == 0 && parked_on_thread(record) == 0);
}

/* [O20] Scanning half, after the full fence of gp_try_immediate(), or of gp_begin(); owner half: reader_publish().
 *  - its bit first:   we see it awake, and a grace period follows;
 *  - our look first:  its full fence follows ours, so its sections find what was unlinked before gone.
 * Forbidden: nobody is seen, AND a section reads an old pointer. */
bool gp_nobody_reads(const struct gp *gp)
{
    return reader_self_is_alone(gp->registry) && reader_anonymous(gp->registry) == 0 && self_is_idle();
}

static bool leaf_needs_fence(struct reader_leaf *leaf)
{
    const struct reader_record *self = reader_self();
    uint32_t own = self && reader_leaf_of(self) == leaf ? reader_bit(self) : 0;

    if (reader_scanned_slots(leaf) & ~own & ~reader_quiescent(leaf))
        return true;

    /* Only quiescent-state threads are awake besides the caller: a fence is for those of them that are offline. */
    struct reader_record *record;
    bool needs = false;
    reader_lock(leaf);
    for (uint32_t left = reader_scanned_slots(leaf) & ~own; !needs && (record = reader_next(leaf, &left));)
        needs = !(reader_inside(record) & RTRCU_QSBR_ONLINE); /* [O22] */
    reader_unlock(leaf);
    return needs;
}

/* [O22] Asking half; the owner's half is section_offline(), whose update of the word is a full fence.
 *  - its update first:  we see it offline, and fence heavily, since its next sections begin without a fence;
 *  - our look first:    it is waited for as online, and sections behind its update find the new pointers.
 * Forbidden: no heavy fence, AND a section of a thread that went offline reads an old pointer. */
bool gp_needs_fence(struct gp *gp)
{
    struct reader_leaf *leaf = NULL;
    while ((leaf = reader_next_scanned(gp->registry, leaf))) {
        if (leaf_needs_fence(leaf))
            return true;
    }
    return false;
}

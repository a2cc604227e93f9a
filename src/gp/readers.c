/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Questions about all readers at once, whose answer may save a grace period its heavy fence, or all of its steps.
 *
 * tested by: test/unit/gp/gp.cc
 */
#include "gp/gp.h"

/* Is the calling thread outside, with no tasks parked on its list, so that it cannot be a holdout? */
static bool self_is_idle(void)
{
    const struct reader_record *record = reader_self();
    return !record || (reader_inside(record) == 0 && parked_on_thread(record) == 0);
}

/* [O20] Scanning half, after the full fence of gp_try_immediate(), or of gp_begin(); owner half: reader_publish().
 *  - The owner's bit first:  we see the owner scanned, and a grace period follows;
 *  - Our read first:  the owner's full fence follows ours, so the owner's sections no longer find unlinked objects.
 * Forbidden: we see no scanned thread, AND a section reads an old pointer. */
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

    /* Besides the caller only quiescent-state threads are scanned: a fence is needed only for those that are
     * offline. */
    struct reader_record *record;
    bool needs = false;
    reader_lock(leaf);
    for (uint32_t left = reader_scanned_slots(leaf) & ~own; !needs && (record = reader_next(leaf, &left));)
        needs = !(reader_inside(record) & RTRCU_QSBR_ONLINE); /* [O22] */
    reader_unlock(leaf);
    return needs;
}

/* [O22] Querying half; the owner's half is section_offline(), whose update of the word is a full fence.
 *  - The owner's update first:  we see the owner offline, and fence heavily, since the owner's next sections begin
 *    without a fence;
 *  - Our read first:  we wait for the owner as online, and its sections after the update find the new pointers.
 * Forbidden: we issue no heavy fence, AND a section of a thread that went offline reads an old pointer. */
bool gp_needs_fence(struct gp *gp)
{
    struct reader_leaf *leaf = NULL;
    while ((leaf = reader_next_scanned(gp->registry, leaf))) {
        if (leaf_needs_fence(leaf))
            return true;
    }
    return false;
}

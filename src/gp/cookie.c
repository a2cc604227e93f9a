/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cookies: numbers of future grace periods, taken and tested without a lock.
 *
 * tested by: test/unit/gp/gp.cc
 */
#include "gp/gp.h"

/* [O2] Updater half; the grace period's half is in gp_begin().
 *  - Our load first:  the grace period of our cookie begins later, so its heavy fence follows our unlinking;
 *  - The store of gp_begin() first:  we see that grace period running, and take the cookie of the next one.
 * Forbidden: our cookie names a grace period that began before our unlinking was visible. */
uint64_t gp_snap(const struct gp *gp, enum gp_kind kind)
{
    rtrcu_fence_full();
    return seq_snap(rtrcu_load_acquire(&gp->machine[kind].seq));
}

bool gp_reached(const struct gp *gp, enum gp_kind kind, uint64_t cookie)
{
    if (!seq_reached(rtrcu_load_acquire(&gp->machine[kind].seq), cookie)) /* [O4] */
        return false;
    rtrcu_fence_full();
    rtrcu_tsan_acquire(rtrcu_read_unlock_slow);
    return true;
}

bool gp_request(struct gp *gp, enum gp_kind kind, uint64_t cookie)
{
    struct gp_machine *machine = &gp->machine[kind];
    uint64_t needed = rtrcu_load_relaxed(&machine->needed);

    while (seq_before(needed, cookie)) { /* each failure means that another thread requested a different cookie */
        if (rtrcu_compare_exchange(&machine->needed, &needed, cookie))
            return true;
    }
    return false;
}

bool gp_is_needed(const struct gp *gp, enum gp_kind kind)
{
    const struct gp_machine *machine = &gp->machine[kind];
    return seq_before(rtrcu_load_relaxed(&machine->seq), rtrcu_load_acquire(&machine->needed));
}

bool gp_next_needed(const struct gp *gp, enum gp_kind kind, uint64_t *cookie)
{
    uint64_t seq = rtrcu_load_acquire(&gp->machine[kind].seq);
    uint64_t needed = rtrcu_load_acquire(&gp->machine[kind].needed);
    *cookie = seq_before(needed, seq_snap(seq)) ? needed : seq_snap(seq);
    return seq_before(seq, needed);
}

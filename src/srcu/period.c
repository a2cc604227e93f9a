/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Grace periods of a domain: the two drains, advanced by the threads that wait for them.
 *
 * tested by: test/unit/srcu/count.cc, test/explore/scenarios/domains.cc
 */
#include "srcu/srcu.h"

/* [O2] Snapshot's half, as in gp_snap(); the other half is advance(), whose fence is in srcu_is_drained(). */
uint64_t srcu_snap(const struct srcu_struct *domain)
{
    rtrcu_fence_full();
    return seq_snap(rtrcu_load_acquire(&srcu_inner_const(domain)->seq));
}

/* [O4] Waiter's half, as in gp_reached(); pairs with the store in end(). */
bool srcu_reached(const struct srcu_struct *domain, uint64_t cookie)
{
    if (!seq_reached(rtrcu_load_acquire(&srcu_inner_const(domain)->seq), cookie))
        return false;
    rtrcu_fence_full();
    return true;
}

void srcu_want(struct srcu_struct *domain, uint64_t cookie)
{
    struct srcu_inner *inner = srcu_inner(domain);
    uint64_t wanted = rtrcu_load_relaxed(&inner->wanted);
    while (seq_before(wanted, cookie) && !rtrcu_compare_exchange(&inner->wanted, &wanted, cookie))
        ; /* each failure means that another thread has raised `wanted` */
}

/* The index that sections do not use when they begin now. */
static uint32_t other_index(const struct srcu_struct *domain)
{
    return ~rtrcu_load_relaxed(&domain->current) & 1;
}

static void end(struct srcu_inner *inner)
{
    inner->phase = SRCU_IDLE;
    rtrcu_store_relaxed(&inner->began_ns, 0);
    rtrcu_store_release(&inner->seq, seq_ended(inner->seq));
}

static void begin(struct srcu_struct *domain)
{
    struct srcu_inner *inner = srcu_inner(domain);
    inner->phase = SRCU_FIRST;
    rtrcu_store_relaxed(&inner->seq, seq_started(inner->seq));
    rtrcu_store_relaxed(&inner->began_ns, plat_clock_now());
    rtrcu_store_relaxed(&inner->report_ns, 0);
    if (srcu_is_drained(domain, SRCU_BOTH))
        end(inner);
}

/* Make one transition.  False: no transition is possible now. */
static bool advance(struct srcu_struct *domain)
{
    struct srcu_inner *inner = srcu_inner(domain);
    must_hold(&inner->lock);

    if (inner->phase == SRCU_IDLE) {
        if (seq_reached(inner->seq, rtrcu_load_acquire(&inner->wanted)))
            return false;
        begin(domain);
    } else if (!srcu_is_drained(domain, 1u << other_index(domain))) {
        return false;
    } else if (inner->phase == SRCU_FIRST) {
        inner->phase = SRCU_SECOND;
        rtrcu_store_relaxed(&domain->current, rtrcu_load_relaxed(&domain->current) ^ 1);
    } else {
        end(inner);
    }

    rtrcu_store_relaxed(&inner->stage, inner->stage + 1);
    return true;
}

/* Clear the slot for the next announcement, and wake its waiters, which then check their own conditions.  Any
 * context. */
void srcu_wake(uint32_t *slot, uint32_t announced)
{
    if (!reader_self_is(READER_STATE_DEADLINE) && rtrcu_compare_exchange(slot, &announced, 0))
        (void)plat_futex_wake(slot, INT32_MAX);
}

/* [O34] Same ordering as in rtrcu_srcu_leave(): wakes waiters that announced themselves before the last transition. */
struct srcu_look srcu_step(struct srcu_struct *domain)
{
    struct srcu_inner *inner = srcu_inner(domain);
    bool moved = false;

    lock_acquire(&inner->lock);
    while (advance(domain)) /* ends: each gp that is wanted needs at most three transitions */
        moved = true;
    struct srcu_look look = {inner->stage, other_index(domain)};
    lock_release(&inner->lock);

    if (!moved)
        return look;
    rtrcu_fence_full();
    uint32_t announced = rtrcu_load_relaxed(domain->slot);
    if ((announced & ~1u) == domain->key)
        srcu_wake(domain->slot, announced);
    return look;
}

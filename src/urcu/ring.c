/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rings of deferred functions: one for each thread, and one thread at a time that drains them.
 *
 * A thread pushes into its own ring.  The drainer is the default server, a thread that finds its ring full, or a thread
 * that waits for deferred functions.  It records how far rings are filled, waits for a grace period, and runs the
 * functions up to there.  So deferred functions never run concurrently, and at most URCU_RING functions of a thread
 * wait.
 *
 * A ring outlives its thread: functions left in it are run, and the next thread that defers takes it over.  A function
 * that one thread runs while another forks is not run again in the child.
 *
 *  drainer    transition             after
 *  0          urcu_drain_claim()    the caller's number
 *  a number   urcu_drain_release()  0
 * tested by: test/unit/urcu/defer.cc, test/dropin/deferring.c, test/explore/scenarios/deferred.cc
 */
#include "urcu/urcu.h"

/* ---- rings ---- */

bool urcu_ring_is_full(const struct adopt_ring *ring)
{
    return rtrcu_load_relaxed(&ring->pushed) - rtrcu_load_acquire(&ring->taken) >= URCU_RING;
}

bool urcu_ring_push(struct adopt_ring *ring, struct urcu_deferred deferred)
{
    uint64_t at = rtrcu_load_relaxed(&ring->pushed);
    if (urcu_ring_is_full(ring))
        return false;
    ring->entry[at % URCU_RING] = deferred;
    rtrcu_exchange(&ring->pushed, at + 1);
    return true;
}

static struct adopt_ring *unused_ring(struct rtrcu_adopted *adopted)
{
    for (struct adopt_ring *ring = urcu_rings(adopted); ring; ring = ring->next) {
        uint32_t unused = 0;
        if (!rtrcu_load_relaxed(&ring->used) && rtrcu_compare_exchange(&ring->used, &unused, 1))
            return ring;
    }
    return NULL;
}

/* Allocate a ring for the calling thread, and list it.  NULL: no memory. */
static struct adopt_ring *fresh_ring(struct rtrcu_adopted *adopted)
{
    struct adopt_ring *ring = plat_mem_pages(sizeof(*ring)), *first = urcu_rings(adopted);
    if (!ring)
        return NULL;

    rtrcu_store_relaxed(&ring->used, 1);
    do { /* each failure means that another thread has added a ring */
        ring->next = first;
    } while (!rtrcu_compare_exchange(&adopted->rings, &first, ring));
    return ring;
}

struct adopt_ring *urcu_ring_own(const struct rtrcu_adopted *adopted)
{
    return adopted->flavour.ring ? *adopted->flavour.ring() : NULL;
}

struct adopt_ring *urcu_ring_take(struct rtrcu_adopted *adopted)
{
    struct adopt_ring *ring = NULL;
    if (adopted->flavour.ring)
        ring = unused_ring(adopted);
    if (adopted->flavour.ring && !ring)
        ring = fresh_ring(adopted);
    if (ring)
        *adopted->flavour.ring() = ring;
    return ring;
}

void urcu_ring_leave(struct rtrcu_adopted *adopted)
{
    struct adopt_ring *ring = urcu_ring_own(adopted);
    if (!ring)
        return;
    *adopted->flavour.ring() = NULL;
    rtrcu_store_release(&ring->used, 0);
}

/* ---- the drainer ---- */

bool urcu_drain_claim(struct rtrcu_adopted *adopted, uint32_t *drainer)
{
    *drainer = 0;
    return rtrcu_compare_exchange(&adopted->drainer, drainer, lock_thread_number());
}

/* [O10] Releasing half, as in turn_gp_unlock(); the waiter's half is claim() in defer.c.  [O8] The flag is read after
 * the release: a server that has found the rings claimed reads the flag and the claim before it sleeps. */
bool urcu_drain_release(struct rtrcu_adopted *adopted)
{
    rtrcu_store_relaxed(&adopted->running_deferred, 0);
    rtrcu_exchange(&adopted->drainer, 0);
    if (tally_read(&adopted->drain_waiters))
        plat_futex_wake(&adopted->drainer, INT32_MAX);
    return rtrcu_load_relaxed(&adopted->defers);
}

bool urcu_drain_note(struct rtrcu_adopted *adopted, struct adopt_ring *first, struct adopt_ring *end)
{
    bool any = false;
    for (struct adopt_ring *ring = first; ring != end; ring = ring->next) {
        ring->noted = rtrcu_load_acquire(&ring->pushed);
        any |= ring->noted != rtrcu_load_relaxed(&ring->taken);
    }
    adopted->draining = first;
    adopted->drains_to = end;
    return any;
}

/* [O8] The flag is cleared, then rings are read; a thread that defers pushes, then reads the flag. */
bool urcu_drain_begin(struct rtrcu_adopted *adopted)
{
    uint32_t drainer;
    if (!urcu_drain_claim(adopted, &drainer))
        return false;

    rtrcu_exchange(&adopted->defers, 0);
    if (urcu_drain_note(adopted, urcu_rings(adopted), NULL))
        return true;
    (void)urcu_drain_release(
        adopted); /* a thread that defers meanwhile wakes the server, which calls urcu_drain_begin() again */
    return false;
}

bool urcu_drain_has(struct rtrcu_adopted *adopted)
{
    struct adopt_ring *ring = adopted->draining;
    while (ring != adopted->drains_to && ring->noted == rtrcu_load_relaxed(&ring->taken))
        ring = ring->next;
    adopted->draining = ring;
    return ring != adopted->drains_to;
}

void urcu_drain_run(struct urcu_deferred deferred)
{
    CALL_PROGRAM();
    deferred.func(deferred.p);
}

/* Runs the next function that urcu_drain_note() has noted. Frees the function's entry before the call, since the
 * function may itself defer a function. */
bool urcu_drain_one(struct rtrcu_adopted *adopted)
{
    if (!urcu_drain_has(adopted))
        return false;

    struct adopt_ring *ring = adopted->draining;
    uint64_t at = rtrcu_load_relaxed(&ring->taken);
    struct urcu_deferred deferred = ring->entry[at % URCU_RING];
    rtrcu_store_relaxed(&adopted->running_deferred, (uintptr_t)deferred.func);
    rtrcu_store_release(&ring->taken, at + 1);
    urcu_drain_run(deferred);
    return true;
}

/* ---- fork ---- */

void urcu_rings_after_fork_child(struct rtrcu_adopted *adopted, struct plat_tid old_thread_id)
{
    const struct adopt_ring *own = urcu_ring_own(adopted);
    bool survives = !plat_tid_is_nobody(old_thread_id) && rtrcu_load_relaxed(&adopted->drainer) == old_thread_id.number;

    for (struct adopt_ring *ring = urcu_rings(adopted); ring; ring = ring->next)
        rtrcu_store_relaxed(&ring->used, ring == own);
    tally_reset(&adopted->drain_waiters);
    rtrcu_store_relaxed(&adopted->drainer, survives ? lock_thread_number() : 0);
    rtrcu_store_relaxed(&adopted->defers, 1);
}

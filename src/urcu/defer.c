/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* defer_rcu(), and waiting for deferred functions.
 *
 * tested by: test/unit/urcu/defer.cc, test/dropin/deferring.c, test/explore/scenarios/deferred.cc
 */
#include <stdlib.h>

#include "urcu/urcu.h"

/* ---- draining in the calling thread ---- */

static bool drains_here(const struct rtrcu_adopted *adopted)
{
    return rtrcu_load_relaxed(&adopted->drainer) == lock_thread_number();
}

/* [O10] Waiter's half, as in advance_until(); the releasing half is urcu_drain_release(). */
static void claim(struct rtrcu_adopted *adopted, const char *call)
{
    uint32_t drainer;
    if (urcu_drain_claim(adopted, &drainer))
        return;

    struct urcu_late late = urcu_late_begin(adopted, call);
    while (!urcu_drain_claim(adopted, &drainer)) { /* ends when the functions of each earlier drainer have returned */
        tally_raise(&adopted->drain_waiters);
        urcu_sleep_on(adopted, &adopted->drainer, drainer, WORK_PATIENCE_NS);
        (void)tally_lower(&adopted->drain_waiters);
        urcu_report_drainer_if_late(adopted, &late, (struct plat_tid){drainer});
    }
}

static void end(struct rtrcu_adopted **adopted)
{
    if (urcu_drain_release(*adopted))
        urcu_server_wake(&(*adopted)->ordinary);
}

/* Run the functions noted for this pass, then cease to be the drainer.  A cleanup does the latter, since a function
 * may throw or end the thread. */
static void run_noted(struct rtrcu_adopted *claimed)
{
    struct rtrcu_adopted *adopted __attribute__((cleanup(end))) = claimed;
    while (urcu_drain_one(adopted)) /* ends with the last function noted for this pass */
        ;
}

/* Drain the rings from @first to before @end; with @if_full, stop if @first has room meanwhile. */
static void drain(struct rtrcu_adopted *adopted, struct adopt_ring *first, struct adopt_ring *end, bool if_full,
                  const char *call)
{
    bool was_online = urcu_wait_begin(adopted, call);
    claim(adopted, call);
    bool has_room = if_full && !urcu_ring_is_full(first);
    if (urcu_drain_note(adopted, has_room ? end : first, end))
        urcu_wait(adopted, urcu_snap(adopted));
    urcu_wait_end(adopted, was_online);
    run_noted(adopted);
}

/* ---- deferring ---- */

/* Notify the default server of rings to drain.  [O8] Same ordering as in urcu_server_call(): the push is visible before
 * the flag is read. */
static void wake_server(struct rtrcu_adopted *adopted)
{
    bool is_told = rtrcu_load_relaxed(&adopted->defers);
    if (!is_told)
        rtrcu_exchange(&adopted->defers, 1);
    if (!is_told || rtrcu_load_relaxed(&adopted->ordinary.state) == WORK_NONE)
        urcu_server_wake(&adopted->ordinary);
}

/* A callback of the default server, for a function that no ring has room for. */
struct apart {
    struct rcu_head head;
    struct rtrcu_adopted *adopted;
    struct urcu_deferred deferred;
};

static void run_apart(struct rcu_head *head)
{
    struct apart *apart = container_of(head, struct apart, head);
    struct rtrcu_adopted *adopted = apart->adopted;
    struct urcu_deferred deferred = apart->deferred;
    free(apart);
    deferred.func(deferred.p);
    rtrcu_fetch_add(&adopted->apart, (uint32_t)-1);
}

/* Queue the function as a callback of the default server, so not in the ring's order.  If there is no memory for the
 * callback, wait for a grace period and run the function here. */
static void defer_apart(struct rtrcu_adopted *adopted, struct urcu_deferred deferred)
{
    struct apart *apart = malloc(sizeof(*apart));
    if (apart) {
        *apart = (struct apart){.adopted = adopted, .deferred = deferred};
        rtrcu_fetch_add(&adopted->apart, 1);
        urcu_server_call(&adopted->ordinary, &apart->head, run_apart);
        return;
    }

    urcu_synchronize(adopted, "defer_rcu");
    urcu_drain_run(deferred);
}

/* Run the functions in the calling thread's ring.  False: the calling thread must not run them now. */
static bool make_room(struct rtrcu_adopted *adopted, struct adopt_ring *ring)
{
    if (drains_here(adopted))
        return false;

    if (urcu_in_section(adopted)) {
        complain(
            &adopted->waits_inside,
            "rtrcu: %s: thread %u: defer_rcu() inside a read-side critical section cannot wait for the %u functions"
            " pending, and queues one more; call it outside sections",
            adopted->flavour.name, lock_thread_number(), (unsigned int)URCU_RING);
        return false;
    }

    drain(adopted, ring, ring->next, true, "defer_rcu");
    return true;
}

void urcu_defer(struct rtrcu_adopted *adopted, void (*func)(void *), void *p)
{
    struct urcu_deferred deferred = {func, p};
    struct adopt_ring *ring = urcu_ring_own(adopted);
    if (!ring && (ring = urcu_ring_take(adopted)))
        urcu_arm_exit(adopted->all);

    bool pushed =
        ring && (urcu_ring_push(ring, deferred) || (make_room(adopted, ring) && urcu_ring_push(ring, deferred)));

    if (pushed)
        wake_server(adopted);
    else
        defer_apart(adopted, deferred);
}

/* ---- waiting for deferred functions ---- */

static bool may_drain(struct rtrcu_adopted *adopted, const char *call)
{
    bool inside = urcu_in_section(adopted);
    if (!inside && !drains_here(adopted))
        return true;
    urcu_refuse_wait(adopted, call, inside ? "read-side critical section" : "deferred function");
    return false;
}

static void wait_for_apart(struct rtrcu_adopted *adopted)
{
    if (rtrcu_load_acquire(&adopted->apart) != 0)
        urcu_barrier(adopted);
}

void urcu_defer_barrier(struct rtrcu_adopted *adopted)
{
    static const char call[] = "rcu_defer_barrier";
    if (!may_drain(adopted, call))
        return;
    drain(adopted, urcu_rings(adopted), NULL, false, call);
    wait_for_apart(adopted);
}

void urcu_defer_barrier_own(struct rtrcu_adopted *adopted)
{
    static const char call[] = "rcu_defer_barrier_thread";
    struct adopt_ring *ring = urcu_ring_own(adopted);
    if (!may_drain(adopted, call))
        return;
    if (ring)
        drain(adopted, ring, ring->next, false, call);
    wait_for_apart(adopted);
}

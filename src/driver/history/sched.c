/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Driver sched: no thread at all; the program's own quiescent states do the work, a step at a time (2002): those of
 * rcu_quiescent_state(), rcu_process_callbacks() and going offline, by any thread but deadline threads.  The end of a
 * section is none of them: an unlock takes no lock and makes no grace period.
 *
 * A quiescent-state thread that queues a callback or asks for a grace period sets its own special flag; so at its next
 * quiescent state it takes one step of a grace period, if the crank is free, and sets the flag again until nothing is
 * left to do.  A thread that leaves or goes offline sets the flags of the others; one that comes online looks whether
 * anything is left.  Threads of the other discipline take their step when they call one of the three.  The first two of
 * the three also run callbacks of threads that have gone, for a share of the call's time.
 * Callers of synchronize_rcu() and rcu_barrier() do all of it themselves.
 * tested by: test/api/drivers.cc
 */
#include "driver/driver.h"

/* A thread that leaves looks so often at the flags that it has set.  One that was clear each time was not swallowed so
 * often, but taken by a thread that comes by itself. */
#define LOOKS 8

static void notify(struct driver *driver)
{
    (void)driver;
    if (reader_self() && reader_self_is(READER_STATE_QSBR) && !reader_self_is(READER_STATE_DEADLINE))
        reader_arm_self();
}

/* True: a flag is set that was not. */
static bool arm_online(struct reader_registry *registry)
{
    bool armed = false;
    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_scanned(registry, leaf));) {
        reader_lock(leaf);
        struct reader_record *record;
        for (uint32_t left = reader_scanned_slots(leaf); (record = reader_next(leaf, &left));) {
            if (reader_inside(record) & RTRCU_QSBR_ONLINE)
                armed |= reader_arm(record);
        }
        reader_unlock(leaf);
    }
    return armed;
}

/* Set the flags of the other online quiescent-state threads: one of them goes on.  A section that one enters or leaves
 * meanwhile may swallow a flag, this or one that was set before, and nobody else would come to set it again: so the
 * calling thread looks again behind a heavy fence.  Full fences swallow none. */
static void leave(struct driver *driver)
{
    struct reader_registry *registry = driver->registry;
    if (!driver_work_is_left(driver))
        return;

    (void)arm_online(registry);
    for (int look = 0; look < LOOKS && driver_work_is_left(driver); look++) {
        if (reader_fences_are_full(registry) || plat_fence_heavy() != 0)
            return;
        if (!arm_online(registry))
            return; /* all have kept it */
    }
}

/* A thread that left set the flags of those that were online then; there may have been none. */
static void online(struct driver *driver)
{
    if (driver_work_is_left(driver))
        notify(driver);
}

const struct work_driver driver_sched = {.name = "sched", .notify = notify, .online = online, .leave = leave};

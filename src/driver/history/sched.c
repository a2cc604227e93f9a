/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Driver sched: has no thread; the program's own quiescent states do the work, one step each (2002).  Such a state is
 * rcu_quiescent_state(), rcu_process_callbacks() or going offline, in any thread but deadline threads.  The end of a
 * section is not: an unlock takes no lock and advances no grace period.
 *
 * A quiescent-state thread that queues a callback or requests a grace period sets its own special flag.  At its next
 * quiescent state it takes one step of a grace period, if the gp lock is free, and sets the flag again while work is
 * left.  A thread that exits or goes offline sets the flags of the others; a thread that comes online checks for work.
 * Threads of the other discipline take their step when they call one of the three functions.  The first two functions
 * also run callbacks of exited threads, for a share of the call's time.
 * Callers of synchronize_rcu() and rcu_barrier() do all of the work themselves.
 * tested by: test/api/drivers.cc
 */
#include "driver/driver.h"

/* How often a departing thread checks the flags that it has set.  A flag that was clear each time was not overwritten
 * by concurrent updates: its thread has cleared it in its slow path. */
#define LOOKS 8

static void notify(struct driver *driver)
{
    (void)driver;
    if (reader_self() && reader_self_is(READER_STATE_QSBR) && !reader_self_is(READER_STATE_DEADLINE))
        reader_arm_self();
}

/* Set the flag of each online quiescent-state thread.  True: at least one flag was clear before. */
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

/* Set the flags of the other online quiescent-state threads, so that one of them continues.  A thread that enters or
 * ends a section meanwhile may clear a flag by its update, and no other thread would set it again, so check again after
 * a heavy fence.  With full fences no flag is lost. */
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
            return; /* all threads have kept the flag */
    }
}

/* The calling thread is online again: set its flag if work is left.  A thread that left has set only the flags of
 * threads that were online then. */
static void online(struct driver *driver)
{
    if (driver_work_is_left(driver))
        notify(driver);
}

const struct work_driver driver_sched = {.name = "sched", .notify = notify, .online = online, .leave = leave};

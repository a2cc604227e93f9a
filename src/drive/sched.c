/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Driver sched: no thread at all; the program's own quiescent states do the work, a step at a time (2002).
 *
 * Whoever brings something new asks itself (its special flag) to come by; at its next quiescent state it takes one step
 * of the crank if that is free, and asks itself again until nothing is left.  A thread that leaves passes the duty on.
 * Callers of synchronize_rcu() and rcu_barrier() do all of it themselves.
 * tested by: test/api/drivers.cc
 */
#include "drive/drive.h"

static void bring(struct drive *drive)
{
    (void)drive;
    if (rtrcu_self.record)
        reader_arm_self();
}

static bool work_is_left(struct drive *drive)
{
    return gp_is_needed(drive->gp, GP_NORMAL) || drive_anything_new(drive);
}

static void quiescent(struct drive *drive, bool may_invoke)
{
    if (rtrcu_self.state & READER_STATE_CALLBACK)
        return; /* a callback passed a quiescent state of its own: the outer one goes on */
    rtrcu_fetch_add(&drive->passes, 1);
    if (rtrcu_load_relaxed(&drive->urgent))
        rtrcu_exchange(&drive->urgent, 0);
    callback_collect(drive->cb);
    drive_step(drive, GP_NORMAL);
    drive_expedited_serve(drive);
    if (may_invoke)
        drive_dispatch(drive);
    if (work_is_left(drive))
        bring(drive);
}

/* Ask some other thread to go on. */
static void leave(struct drive *drive)
{
    struct reader_registry *registry = drive->gp->registry;
    if (!work_is_left(drive))
        return;
    for (uint32_t i = 0; i < reader_leaf_count(registry); i++) {
        struct reader_leaf *leaf = reader_leaf_at(registry, i);
        if (!leaf)
            continue;
        lock_acquire(&leaf->lock);
        uint32_t registered = rtrcu_load_acquire(&leaf->registered);
        if (registered)
            reader_arm(&leaf->records[__builtin_ctz(registered)]);
        lock_release(&leaf->lock);
        if (registered)
            return;
    }
}

const struct drive_driver drive_driver_sched = {
    .name = "sched", .bring = bring, .quiescent = quiescent, .leave = leave};

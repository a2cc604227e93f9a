/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The heavy fence of a grace period, and what replaces it when the kernel begins to refuse it.
 *
 * tested by: test/api/seccomp.cc
 */
#include "drive/drive.h"

/* Not yet sure that every reader fences: a visit to every CPU is a heavy fence of its own, and may confirm it. */
static bool fence_by_other_means(struct drive *drive)
{
    if (rtrcu_self.slow == 0)
        reader_fences_acknowledge(); /* who turns the crank is a reader too, and would wait for itself */
    int error = plat_fence_by_visit();
    bool confirmed = reader_fences_confirmed(drive->gp->registry, error == 0);
    if (confirmed)
        rtrcu_fence_full();
    return confirmed || error == 0;
}

bool drive_fence(struct drive *drive)
{
    struct reader_registry *registry = drive->gp->registry;
    if (rtrcu_load_acquire(&registry->fences_confirmed)) {
        rtrcu_fence_full();
        return true;
    }
    if (!rtrcu_load_relaxed(&registry->full_fences)) {
        if (plat_fence_heavy() == 0)
            return true;
        rtrcu_fetch_add(&drive->fence_refused, 1);
        reader_fences_switch(registry);
    }
    return fence_by_other_means(drive);
}

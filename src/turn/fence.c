/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The heavy fence of a grace period, and its replacement once the kernel refuses it.
 *
 * tested by: test/api/seccomp.cc
 */
#include "turn/turn.h"

/* Visit every CPU.  The visitor may wait long for one CPU and cannot report meanwhile, so another thread watches it. */
static bool visit_all(struct turn *turn)
{
    bool told = work_visit_begins(turn->work);
    bool reached = plat_fence_by_visit(told ? work_visit_next_cpu(turn->work) : NULL) == 0;
    if (told)
        work_visit_ends(turn->work);
    return reached;
}

/* Make every running thread of the process pass a full fence.  membarrier() is tried again, since a sandbox may apply
 * to another thread alone, unless the configuration avoids interrupting other CPUs. */
static bool reach_all(struct turn *turn)
{
    bool may_interrupt = config_now(turn->config)->membarrier != RTRCU_MEMBARRIER_OFF;
    return (may_interrupt && plat_fence_heavy() == 0) || visit_all(turn);
}

/* Fence while not every reader is known to fence in @mode: reaching all of them is a heavy fence by itself, and may
 * confirm the mode. Two threads may be here at the same time; one of them confirms by its visit, and the other's visit
 * is a fence as well. */
static bool fence_by_other_means(struct turn *turn, uint32_t mode)
{
    struct reader_registry *registry = turn->registry;
    reader_fences_acknowledge(registry); /* the calling thread is a reader too, and would wait for itself */

    bool remembered = reader_fences_visit_begin(registry);
    bool visited = reach_all(turn);
    bool confirmed = reader_fences_confirm(registry, mode, remembered && visited);
    if (remembered)
        reader_fences_visit_end(registry);

    if (confirmed)
        rtrcu_fence_full();
    return visited || (confirmed && reader_fences_mode(registry) == mode);
}

/* Reads the fence mode again after a fence that relied on the mode: if the mode has changed, readers may have stopped
 * fencing, and the fence is repeated. */
bool turn_fence(struct turn *turn)
{
    struct reader_registry *registry = turn->registry;

    for (;;) { /* ends unless the configuration keeps changing */
        uint32_t mode = reader_fences_mode(registry);
        if (reader_fences_are_confirmed(registry, mode)) {
            rtrcu_fence_full();
            if (reader_fences_mode(registry) == mode)
                return true;
        } else if (mode & 1) {
            return fence_by_other_means(turn, mode);
        } else if (plat_fence_heavy() == 0) {
            return true;
        } else {
            counter_add(&turn->fence_refused, 1);
            reader_fences_switch(registry);
        }
    }
}

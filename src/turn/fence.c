/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The heavy fence of a grace period, and what replaces it when the kernel begins to refuse it.
 *
 * tested by: test/api/seccomp.cc
 */
#include "turn/turn.h"

/* The visitor may not come to run on a CPU for long, and reports nothing meanwhile: so another thread knows. */
static bool visit_all(struct turn *turn)
{
    bool told = work_visit_begins(turn->work);
    bool reached = plat_fence_by_visit(told ? work_visit_next_cpu(turn->work) : NULL) == 0;
    if (told)
        work_visit_ends(turn->work);
    return reached;
}

/* A full fence in every thread of the process that runs.  A sandbox may be another thread's alone: what the kernel
 * refused there it may allow here.  Not where the configuration spares other CPUs the interrupts. */
static bool reach_all(struct turn *turn)
{
    bool may_interrupt = config_now(turn->config)->membarrier != RTRCU_MEMBARRIER_OFF;
    return (may_interrupt && plat_fence_heavy() == 0) || visit_all(turn);
}

/* Not yet sure that every reader fences in @mode: reaching all of them is a heavy fence of its own, and may confirm it.
 * Two threads may be here at once; one of them confirms by its visit, the other's is no less a fence. */
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

/* The mode is read again behind a fence that relies on it: readers may have been told to fence no longer. */
bool turn_fence(struct turn *turn)
{
    struct reader_registry *registry = turn->registry;

    for (;;) { /* ends unless the configuration changes for ever */
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

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The placement table: where in the leaf's list a task goes.
 *
 * A boundary is waited for together with everything behind it, so one list serves two kinds of grace period at the
 * price of some imprecision: where no place suits both, a normal grace period waits for a task needlessly rather than
 * an expedited one.  The imprecision is bounded: such a task is waited for by at most the grace period under way.
 * tested by: test/unit/parked/parked.cc
 */
#include "parked/parked.h"

#define GT PARKED_GP_TASKS
#define ET PARKED_EXP_TASKS
#define GW PARKED_GP_THREAD
#define EW PARKED_EXP_THREAD

enum parked_place parked_place(unsigned int state)
{
    switch (state) {
    /* Nobody waits for the thread, or the first to block the normal kind without blocking the expedited one. */
    case 0:
    case ET:
    case ET | GW:
    case GT:
    case GT | ET:
        return PARKED_AT_HEAD;
    /* First to block a kind, or to block both: behind every boundary. */
    case EW:
    case GW:
    case GW | EW:
    case GT | EW:
    case GT | GW | EW:
    case GT | ET | GW | EW:
        return PARKED_AT_TAIL;
    /* A further one that blocks the expedited kind. */
    case ET | EW:
    case ET | GW | EW:
    case GT | ET | EW:
        return PARKED_AFTER_EXP;
    /* A further one that blocks the normal kind alone. */
    case GT | GW:
    case GT | ET | GW:
        return PARKED_AFTER_GP;
    default:
        plat_die("rtrcu: parked_place(%u): no such row\n", state);
    }
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The placement table: at which place of the leaf's list a task is inserted.
 *
 * A grace period waits for its boundary and everything after it, so one list serves two kinds at the price of some
 * imprecision: where no place suits both kinds, a normal grace period waits for a task needlessly rather than an
 * expedited one.  The imprecision is bounded: at most the grace period in progress waits for such a task.
 * tested by: test/unit/parked/parked.cc
 */
#include "parked/parked.h"

/* The order of the kinds is that of gp.h: normal, expedited. */
#define GT (1u << 0) /* normal: waits for tasks of the leaf */
#define ET (1u << 1) /* expedited: likewise */
#define GW (1u << 2) /* normal: waits for the thread that parks */
#define EW (1u << 3) /* expedited: likewise */

enum parked_place parked_place(struct reader_kinds tasks, struct reader_kinds thread)
{
    unsigned int state = (reader_kinds_has(tasks, 0) ? GT : 0) | (reader_kinds_has(tasks, 1) ? ET : 0) |
                         (reader_kinds_has(thread, 0) ? GW : 0) | (reader_kinds_has(thread, 1) ? EW : 0);

    switch (state) {
    /* No grace period waits for the thread; or this is the first task to block the normal kind, and need not block the
     * expedited one. */
    case 0:
    case ET:
    case ET | GW:
    case GT:
    case GT | ET:
        return PARKED_AT_HEAD;
    /* First task to block a kind, or to block both: after every boundary. */
    case EW:
    case GW:
    case GW | EW:
    case GT | EW:
    case GT | GW | EW:
    case GT | ET | GW | EW:
        return PARKED_AT_TAIL;
    /* A further task that blocks the expedited kind. */
    case ET | EW:
    case ET | GW | EW:
    case GT | ET | EW:
        return PARKED_AFTER_EXP;
    /* A further task that blocks the normal kind alone. */
    case GT | GW:
    case GT | ET | GW:
        return PARKED_AFTER_GP;
    default:
        plat_die("rtrcu: parked_place(%u): no such row\n", state);
    }
}

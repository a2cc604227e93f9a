/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The resizer's state, and the generations that it frees after a gp.
 *
 * tested by: test/unit/table/create.cc
 */
#include "table/table.h"

/* The lock needs no initialisation: all zero, it is free and has LOCK_RANK_RESIZER. */
struct resizer rtrcu_resizer = {.retired_end = &rtrcu_resizer.retired};

/* Puts @generation on the list of those that wait for a gp.  INV-TB4: the cookie is taken after the caller has made the
 * generation unreachable for look-ups that begin. */
void generation_retire(struct generation *generation, struct table *table)
{
    generation->cookie = rtrcu_start_poll();
    generation->table = table;
    generation->younger = NULL;
    *rtrcu_resizer.retired_end = generation;
    rtrcu_resizer.retired_end = &generation->younger;
}

int64_t generation_free_retired(struct resizer *resizer)
{
    struct generation *oldest = resizer->retired;
    if (!oldest)
        return PLAT_FOREVER;
    if (!gp_reached(api_gp(), GP_NORMAL, oldest->cookie))
        return TABLE_POLL_NS;

    struct generation *younger = oldest->younger;
    if (generation_free_piece(oldest)) {
        resizer->retired = younger;
        if (!younger)
            resizer->retired_end = &resizer->retired;
    }
    return 0;
}

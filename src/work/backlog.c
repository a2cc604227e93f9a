/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A backlog of callbacks at qmax.
 *
 * tested by: test/api/backpressure.cc, test/unit/urcu/server.cc
 */
#include "work/work.h"

int64_t work_patience_left(struct work_patience *patience, uint64_t returned)
{
    int64_t now = plat_clock_now();
    if (!patience->moved_ns || patience->returned != returned)
        *patience = (struct work_patience){.returned = returned, .moved_ns = now};
    return patience->moved_ns + WORK_PATIENCE_NS - now;
}

bool work_backlog_lift(bool full, bool *lifted, int nice)
{
    if (full == *lifted)
        return false;
    *lifted = full;
    (void)plat_sched_set(0, full ? WORK_LIFTED_NICE : nice);
    return full;
}

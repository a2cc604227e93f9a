/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Backpressure at qmax: how long a producer waits, and the nice value of invokers meanwhile.
 *
 * tested by: test/unit/work/backlog.cc, test/api/backpressure.cc, test/unit/urcu/server.cc
 */
#include "work/work.h"

int64_t work_patience_left(struct work_patience *patience, uint64_t returned, uint64_t all_returned)
{
    int64_t now = plat_clock_now();
    if (!patience->moved_ns || patience->returned != returned)
        *patience = (struct work_patience){returned, all_returned, now, now};
    if (patience->all_returned != all_returned) {
        patience->all_returned = all_returned;
        patience->all_moved_ns = now;
    }

    int64_t left_ns = patience->moved_ns + WORK_PATIENCE_QUEUE_NS - now;
    int64_t all_left_ns = patience->all_moved_ns + WORK_PATIENCE_NS - now;
    return left_ns < all_left_ns ? left_ns : all_left_ns;
}

bool work_backlog_lift(bool full, bool *lifted, int nice)
{
    if (full == *lifted)
        return false;
    *lifted = full;
    (void)plat_sched_set_nice(full ? WORK_LIFTED_NICE : nice);
    return full;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the scheduler makes of a calling thread, remembered for some calls: a system call for each grace period would
 * cost a tenth of one.
 *
 * tested by: test/api/drivers.cc
 */
#include "work/work.h"

#define CALLS 16 /* a look serves so many */

/* The process may have changed its mind since it began: its main thread says what is ordinary in it now.  The thread
 * that made the driver may have passed its niceness on to it: it would hand over to itself. */
static bool is_low_priority(const struct work *work)
{
    int32_t ordinary = rtrcu_load_acquire(&work->attr)->nice, own = plat_sched_nice(lock_thread_id());
    if (own <= ordinary || work_thread_is_me(&work->thread))
        return false;
    return own > plat_sched_nice(plat_main_thread());
}

/* Low bit: weak.  The rest: calls for which that is believed. */
bool work_caller_is_low_priority(const struct work *work)
{
    uint32_t known = rtrcu_self.sched;
    known = known < 2 ? 2u * CALLS + is_low_priority(work) : known - 2;
    rtrcu_self.sched = known;
    return known & 1;
}

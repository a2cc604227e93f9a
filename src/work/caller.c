/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The scheduling class of calling threads, cached for some calls: a system call for each grace period would add a tenth
 * to its cost.
 *
 * tested by: test/api/drivers.cc
 */
#include "work/work.h"

#define CALLS 16 /* one reading of the nice value is used for this many calls */

/* Is the calling thread's nice value above those of ordinary threads?  The process may have changed its nice value
 * since it began, so the main thread's present value counts too.  False for the driver, which may have inherited its
 * creator's nice value: the creator would leave work to a thread with the same value. */
static bool is_low_priority(const struct work *work)
{
    int32_t ordinary = rtrcu_load_acquire(&work->attr)->nice, own = plat_sched_nice(lock_thread_id());
    if (own <= ordinary || work_thread_is_me(&work->thread))
        return false;
    return own > plat_sched_nice(plat_main_thread());
}

/* Caches the answer in rtrcu_self.sched: the low bit is the answer, the other bits count the calls that may still use
 * it. */
bool work_caller_is_low_priority(const struct work *work)
{
    uint32_t known = rtrcu_self.sched;
    known = known < 2 ? 2u * CALLS + is_low_priority(work) : known - 2;
    rtrcu_self.sched = known;
    return known & 1;
}

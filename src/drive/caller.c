/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the scheduler makes of a calling thread, remembered for some calls: a system call for each grace period would
 * cost a tenth of one.
 *
 * tested by: test/api/drivers.cc
 */
#include "drive/drive.h"

#define CALLS 16 /* a look serves so many */

/* Low bit: weak.  The rest: calls for which that is believed. */
bool drive_caller_is_weak(const struct drive *drive)
{
    uint32_t known = rtrcu_self.sched;
    known = known < 2 ? 2u * CALLS + (plat_sched_nice() > rtrcu_load_acquire(&drive->home)->nice) : known - 2;
    rtrcu_self.sched = known;
    return known & 1;
}

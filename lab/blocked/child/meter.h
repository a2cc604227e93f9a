/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Measurement of the leaf lock, and spinning for it. The child program's own lock_acquire() and related functions
 * replace the library's (the linker's --wrap), so that the library needs no code for this.
 *
 * The leaf lock itself guards the totals. So the process must have only one leaf: at most 31 registered threads.
 */
#ifndef LAB_BLOCKED_METER_H
#define LAB_BLOCKED_METER_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { METER_BUCKETS = 32 };

struct meter_use {
    uint64_t acquisitions;
    uint64_t hold, hold_max, wait, wait_max; /* cycles */
    uint64_t hold_log2[METER_BUCKETS];       /* bucket i: 2^i to 2^(i+1) - 1 ns */
};

struct meter_totals {
    struct meter_use readers, others;
    uint64_t promotions, promotion_cycles;
};

/* Called before the first use of the library.  @cycles_per_ns is the rate of the time stamp counter. */
void meter_init(bool spin, double cycles_per_ns);
/* Mark the calling thread as a reader: from now on its use of the leaf lock counts as that of readers. */
void meter_this_is_a_reader(void);
/* Count into @totals from now on; NULL stops counting.  Locks held at that moment are not counted. */
void meter_switch(struct meter_totals *totals);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The leaf lock's meter, and its spinning form: the child program is linked with its own lock_acquire() and so on in
 * front of the library's (the linker's --wrap), so that the library carries neither.
 *
 * There must be one leaf only, which is so up to 31 registered threads: then the totals are guarded by the lock that
 * they describe.
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

/* Before the first use of the library.  @cycles_per_ns is that of the program's counter. */
void meter_init(bool spin, double cycles_per_ns);
/* The calling thread's use counts as that of readers. */
void meter_this_is_a_reader(void);
/* Count into @totals from now on, NULL = the meter is off.  What is held at that moment is not counted. */
void meter_switch(struct meter_totals *totals);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Counters: incremented by many threads, read by any; a read may be late, but is never torn. */
#ifndef RTRCU_BASE_COUNTER_H
#define RTRCU_BASE_COUNTER_H

#include "base/check.h"

struct counter {
    uint64_t count; /* atomic */
};

/* Add @amount; returns the value before the addition. */
static inline uint64_t counter_add(struct counter *counter, uint64_t amount)
{
    return rtrcu_fetch_add(&counter->count, amount);
}

/* Add @amount to a counter that one thread at a time changes: no atomic read-modify-write. */
static inline void counter_add_alone(struct counter *counter, uint64_t amount)
{
    rtrcu_count_add(&counter->count, amount);
}

static inline uint64_t counter_read(const struct counter *counter)
{
    return rtrcu_load_relaxed(&counter->count);
}

#endif

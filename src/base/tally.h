/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tallies: the number of threads that are doing something now.
 *
 * INV-BA1: a tally is lowered at most once for each time that it was raised.
 */
#ifndef RTRCU_BASE_TALLY_H
#define RTRCU_BASE_TALLY_H

#include "base/check.h"

struct tally {
    uint32_t number; /* atomic */
};

/* Relaxed load: a hint. */
static inline uint32_t tally_read(const struct tally *tally)
{
    return rtrcu_load_relaxed(&tally->number);
}

/* Acquire load: synchronizes with every tally_lower(). */
static inline uint32_t tally_acquire(const struct tally *tally)
{
    return rtrcu_load_acquire(&tally->number);
}

/* Add 1.  Wait-free; a full fence. */
static inline void tally_raise(struct tally *tally)
{
    rtrcu_fetch_add(&tally->number, 1);
}

/* Add 1 if the tally is still *@seen.  False: it is not, and *@seen is set to its current value. */
static inline bool tally_raise_from(struct tally *tally, uint32_t *seen)
{
    return rtrcu_compare_exchange(&tally->number, seen, *seen + 1);
}

/* Subtract 1, and return the value before that.  A full fence. */
static inline uint32_t tally_lower(struct tally *tally)
{
    uint32_t before = rtrcu_fetch_add(&tally->number, (uint32_t)-1);
    invariant("INV-BA1", before != 0);
    return before;
}

/* Like tally_lower(), but a tally of 0 stays 0. */
static inline void tally_lower_if_raised(struct tally *tally)
{
    uint32_t seen = tally_read(tally);
    while (seen && !rtrcu_compare_exchange(&tally->number, &seen, seen - 1))
        ; /* each failure means that another thread has changed the tally */
}

/* In a fork's child: no thread is counted. */
static inline void tally_reset(struct tally *tally)
{
    rtrcu_store_relaxed(&tally->number, 0);
}

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tallies: how many are at something now, as a fork's child counts it anew.
 *
 * A thread raises a tally, and lowers it when it is through.  Its signal handler may fork in between: the child's tally
 * says what is there in the child, and the thread, which goes on in both, must not take from it what it gave to the
 * parent's.  So one word has the number and the generation, which counts how often the tally was forgotten, and a raise
 * belongs to its generation:
 *
 *  bits 0..31   how many
 *  bits 32..63  the generation
 *
 *  the fork comes before the raise:   the raise finds the child's generation, and what it adds is lowered again
 *  it comes between the two:          the lowering finds another generation, and changes nothing
 *  it comes behind the lowering:      nothing is left to be done
 *
 * Each is one update of the word, so no fork comes in the midst of one.
 *
 * INV-BA1: a tally is lowered once at most for each raise of its generation.
 */
#ifndef RTRCU_BASE_TALLY_H
#define RTRCU_BASE_TALLY_H

#include "base/check.h"

struct tally {
    uint64_t word; /* atomic: see above */
};

/* Value: when a tally was raised. */
struct tally_ticket {
    uint32_t generation;
};

static inline uint32_t tally_number(uint64_t word)
{
    return (uint32_t)word;
}

static inline struct tally_ticket tally_ticket_of(uint64_t word)
{
    return (struct tally_ticket){(uint32_t)(word >> 32)};
}

static inline bool tally_ticket_is(struct tally_ticket a, struct tally_ticket b)
{
    return a.generation == b.generation;
}

/* How many; a hint. */
static inline uint32_t tally_read(const struct tally *tally)
{
    return tally_number(rtrcu_load_relaxed(&tally->word));
}

/* The same; an acquire of what those did who lowered it. */
static inline uint32_t tally_acquire(const struct tally *tally)
{
    return tally_number(rtrcu_load_acquire(&tally->word));
}

/* Number and generation, for tally_raise_from(). */
static inline uint64_t tally_look(const struct tally *tally)
{
    return rtrcu_load_relaxed(&tally->word);
}

/* The ticket of a raise that is there, by whoever is sure that no fork comes before its use. */
static inline struct tally_ticket tally_ticket_now(const struct tally *tally)
{
    return tally_ticket_of(rtrcu_load_relaxed(&tally->word));
}

/* Wait-free. */
static inline struct tally_ticket tally_raise(struct tally *tally)
{
    return tally_ticket_of(rtrcu_fetch_add(&tally->word, 1));
}

/* Raise it if it is still as it was *@seen; else false, and *@seen is what it is. */
static inline bool tally_raise_from(struct tally *tally, uint64_t *seen)
{
    return rtrcu_compare_exchange(&tally->word, seen, *seen + 1);
}

/* Returns what it was before; 0: it has been forgotten since @ticket, and is as it was. */
static inline uint32_t tally_lower(struct tally *tally, struct tally_ticket ticket)
{
    uint64_t seen = rtrcu_load_relaxed(&tally->word);
    do { /* each failure means that another thread has raised or lowered it, or that a handler of this one forked */
        if (!tally_ticket_is(tally_ticket_of(seen), ticket))
            return 0;
        invariant("INV-BA1", tally_number(seen) != 0);
    } while (!rtrcu_compare_exchange(&tally->word, &seen, seen - 1));
    return tally_number(seen);
}

/* In a fork's child: nobody is at it, and no raise before counts any more. */
static inline void tally_forget(struct tally *tally)
{
    rtrcu_store_relaxed(&tally->word, (uint64_t)(tally_ticket_now(tally).generation + 1) << 32);
}

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The set of threads and leaves that grace periods scan: a word of 64 bits per leaf, and counts above the leaves.
 *
 *  bits 0..31   scanned: the thread of that slot may be inside, or may enter a section on its fast path
 *  bits 32..63  candidate: it was scanned, and a grace period is about to check whether it has become idle
 *
 * No other code writes the word.  By thread:
 *
 *  before     transition                  after
 *  IDLE       reader_scanned_add()        SCANNED
 *  SCANNED    reader_scanned_add()        SCANNED
 *  CANDIDATE  reader_scanned_add()        BOTH
 *  BOTH       reader_scanned_add()        BOTH
 *  SCANNED    reader_scanned_propose()    CANDIDATE
 *  IDLE       reader_scanned_propose()    IDLE
 *  CANDIDATE  reader_scanned_settle()     IDLE SCANNED
 *  BOTH       reader_scanned_settle()     SCANNED
 *  SCANNED    reader_scanned_settle()     SCANNED
 *  IDLE       reader_scanned_settle()     IDLE
 *  any        reader_scanned_clear()      IDLE
 *  any        reader_scanned_forget()     IDLE SCANNED
 *
 *  reader_scanned_add()      the owner in a counted slow path, before it can be inside or on its fast path again
 *  reader_scanned_propose()  a normal grace period before its heavy fence, under the leaf lock
 *  reader_scanned_settle()   the same after the fence: the candidates that stayed outside become idle
 *  reader_scanned_clear()    the owner unregisters, under the leaf lock
 *  reader_scanned_forget()   in a fork's child
 *
 * A node above the leaves has a count.  At the lowest level it is the number of leaves below with a word that is not 0,
 * plus the number of leaves below that list tasks; above, the number of nodes below whose count is not 0.  A count is
 * raised before the change below it, and lowered after.
 *
 * INV-RD3: a leaf whose word is not 0, or that lists tasks, has a count above it that is not 0, up to the top.
 */
#ifndef RTRCU_READER_SCANNED_H
#define RTRCU_READER_SCANNED_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

#define READER_FANOUT 32
#define READER_FANOUT_SHIFT 5
#define READER_LEAVES 32768
#define READER_LEVELS 3 /* above the leaves */

/* A node above the leaves. */
struct reader_count {
    struct tally reasons; /* the count, as described above */
    struct reader_count
        *above; /* atomic: written by threads that link a leaf below, all with the same value; NULL = the top */
} __attribute__((aligned(BASE_CACHE_LINE)));

struct reader_counts {
    struct reader_count level1[READER_LEAVES / READER_FANOUT];
    struct reader_count level2[READER_LEAVES / READER_FANOUT / READER_FANOUT];
    struct reader_count level3[1];
};

static_assert(sizeof(((struct reader_counts *)0)->level2) == READER_FANOUT * sizeof(struct reader_count),
              "the top has as many nodes below it as any node");

/* The scanned threads of one leaf. */
struct reader_scanned {
    uint64_t word;              /* atomic: see above [O20] */
    uint32_t listed;            /* atomic: tasks are on the leaf's list; written under the leaf lock */
    struct reader_count *above; /* constant once the leaf is linked */
    struct counter slept;       /* threads that became idle; under the leaf lock */
    struct counter woken;       /* threads that ended their idleness */
};

/* The node above leaf @index.  Links this node to the nodes above it, up to the top. */
struct reader_count *reader_counts_above(struct reader_counts *counts, uint32_t index);
/* If no thread of leaf @index is scanned, prefetch the nodes above it: the calling thread, which ends its idleness,
 * changes them next, and their lines are in the cache of the thread that scanned last. */
void reader_counts_prefetch(const struct reader_scanned *scanned, uint32_t index);
/* In a fork's child: set the counts above the first @leaves leaves to 0. */
void reader_counts_forget(struct reader_counts *counts, uint32_t leaves);
/* Must leaves below node @index of @level be scanned: is its count not 0?  @level is not 0, the level of leaves. */
static inline bool reader_count_has_reasons(const struct reader_counts *counts, uint32_t level, uint32_t index)
{
    const struct reader_count *node = level == 1   ? &counts->level1[index]
                                      : level == 2 ? &counts->level2[index]
                                                   : &counts->level3[index];
    return tally_acquire(&node->reasons) != 0; /* [O20] */
}

/* Threads to scan, as bits; acquire: synchronizes with the threads that became idle. */
static inline uint32_t reader_scanned_of(const struct reader_scanned *scanned)
{
    uint64_t word = rtrcu_load_acquire(&scanned->word); /* [O20] */
    return (uint32_t)word | (uint32_t)(word >> 32);
}

/* Must the leaf be scanned: is one of its threads scanned, or does it list tasks? */
static inline bool reader_scanned_any(const struct reader_scanned *scanned)
{
    return reader_scanned_of(scanned) != 0 || rtrcu_load_acquire(&scanned->listed) != 0;
}

/* Is the thread scanned, candidate or not?  By the owner of @bit. */
static inline bool reader_scanned_is_set(const struct reader_scanned *scanned, uint32_t bit)
{
    return (uint32_t)rtrcu_load_relaxed(&scanned->word) & bit; /* [O26] */
}

/* Candidates for idle.  Under the leaf lock. */
static inline uint32_t reader_scanned_candidates(const struct reader_scanned *scanned)
{
    return (uint32_t)(rtrcu_load_acquire(&scanned->word) >> 32);
}

/* Make the scanned threads of @slots candidates.  Under the leaf lock. */
void reader_scanned_propose(struct reader_scanned *scanned, uint32_t slots);
/* End all candidacies: the candidates in @asleep become idle, unless they were added again; the others are
 * scanned.  Under the leaf lock. */
void reader_scanned_settle(struct reader_scanned *scanned, uint32_t asleep);
/* Make the thread of @bit scanned.  True: it was idle. */
bool reader_scanned_add(struct reader_scanned *scanned, uint32_t bit);
void reader_scanned_clear(struct reader_scanned *scanned, uint32_t bit);
void reader_scanned_forget(struct reader_scanned *scanned, uint32_t survivor);
/* Record whether tasks are on the list of @scanned's leaf.  Under the leaf lock. */
void reader_scanned_list(struct reader_scanned *scanned, bool listed);
/* Is the thread of @bit, of the leaf of @scanned, the only scanned thread of all leaves, and no task listed?  @bit 0:
 * is no thread scanned? */
bool reader_scanned_alone(const struct reader_counts *counts, const struct reader_scanned *scanned, uint32_t bit);

#endif

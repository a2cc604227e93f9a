/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which leaves and threads a grace period scans: a word of 64 bits per leaf, and counts above the leaves.
 *
 *  bits 0..31   scanned: the thread of that slot may be inside, or may enter without notice
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
 *  reader_scanned_add()      the owner in a counted slow path, before it can be inside, or on its fast path again,
 *  unseen
 *  reader_scanned_propose()  a normal grace period before its heavy fence, under the leaf lock
 *  reader_scanned_settle()   the same after the fence: the candidates that stayed outside become idle
 *  reader_scanned_clear()    the owner unregisters, under the leaf lock
 *  reader_scanned_forget()   in a fork's child
 *
 * A node above the leaves counts reasons to scan below it: leaves whose word is not 0, leaves with parked tasks, nodes
 * whose count is not 0.  A count is raised before the reason exists, and lowered after it has disappeared.
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
    struct tally reasons; /* reasons to scan below it */
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

/* The node above leaf @index, linked up to the top. */
struct reader_count *reader_counts_above(struct reader_counts *counts, uint32_t index);
/* Fetch the nodes above leaf @index for a thread of it that ends its idleness.  If no thread of the leaf is scanned,
 * the thread changes these nodes next, and the thread of the last scan has their lines in its cache. */
void reader_counts_prefetch(const struct reader_scanned *scanned, uint32_t index);
/* In a fork's child, for the first @leaves leaves: there is no reason to scan any. */
void reader_counts_forget(struct reader_counts *counts, uint32_t leaves);
/* Is there a reason to scan below node @index of @level?  Not for leaves, which are level 0. */
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

/* Is there a reason to scan the leaf at all? */
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

/* Make the scanned ones of @slots candidates.  Under the leaf lock. */
void reader_scanned_propose(struct reader_scanned *scanned, uint32_t slots);
/* End all candidacies: of the candidates, those in @asleep become idle, unless they were added again.  Under the leaf
 * lock. */
void reader_scanned_settle(struct reader_scanned *scanned, uint32_t asleep);
/* Make the thread of @bit scanned.  True: it was idle. */
bool reader_scanned_add(struct reader_scanned *scanned, uint32_t bit);
void reader_scanned_clear(struct reader_scanned *scanned, uint32_t bit);
void reader_scanned_forget(struct reader_scanned *scanned, uint32_t survivor);
/* Record whether tasks are on the leaf's list.  Under the leaf lock. */
void reader_scanned_list(struct reader_scanned *scanned, bool listed);
/* Is @bit (0 = none), of the leaf of @scanned, the only reason to scan in the whole tree? */
bool reader_scanned_alone(const struct reader_counts *counts, const struct reader_scanned *scanned, uint32_t bit);

#endif

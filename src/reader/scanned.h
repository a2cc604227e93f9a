/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which leaves and threads a grace period looks at: a word of 64 bits a leaf, and counts above the leaves.
 *
 *  bits 0..31   awake: the thread of that slot may be inside, or may enter without saying so
 *  bits 32..63  leaving: so it was, and a grace period is about to see whether it still is
 *
 * Nobody else writes the word.  By thread:
 *
 *  before   transition              after
 *  ASLEEP   reader_scanned_add()      AWAKE
 *  AWAKE    reader_scanned_add()      AWAKE
 *  LEAVING  reader_scanned_add()      BOTH
 *  BOTH     reader_scanned_add()      BOTH
 *  AWAKE    reader_scanned_propose()    LEAVING
 *  ASLEEP   reader_scanned_propose()    ASLEEP
 *  LEAVING  reader_scanned_settle()   ASLEEP AWAKE
 *  BOTH     reader_scanned_settle()   AWAKE
 *  AWAKE    reader_scanned_settle()   AWAKE
 *  ASLEEP   reader_scanned_settle()   ASLEEP
 *  any      reader_scanned_clear()    ASLEEP
 *  any      reader_scanned_forget()   ASLEEP AWAKE
 *
 *  reader_scanned_add()     the owner in a slow path that is counted, before it can be inside, or back to fast, unseen
 *  reader_scanned_propose()   a normal grace period before its heavy fence, under the leaf lock
 *  reader_scanned_settle()  the same behind it: asleep are those who kept still
 *  reader_scanned_clear()   the owner leaves the registry, under the leaf lock
 *  reader_scanned_forget()  in a fork's child
 *
 * A node above the leaves counts reasons to look below it: leaves whose word is not 0, leaves with parked tasks, nodes
 * whose count is not 0.  A count is raised before the reason is there, and lowered when it is gone.
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
    struct tally reasons; /* to look below it */
    struct reader_count
        *above; /* atomic: written by threads that hang a leaf below, the same for all; NULL = the top */
} __attribute__((aligned(BASE_CACHE_LINE)));

struct reader_counts {
    struct reader_count level1[READER_LEAVES / READER_FANOUT];
    struct reader_count level2[READER_LEAVES / READER_FANOUT / READER_FANOUT];
    struct reader_count level3[1];
};

static_assert(sizeof(((struct reader_counts *)0)->level2) == READER_FANOUT * sizeof(struct reader_count),
              "the top has as many nodes below it as any node");

/* Of one leaf. */
struct reader_scanned {
    uint64_t word;              /* atomic: see above [O20] */
    uint32_t listed;            /* atomic: tasks are on the leaf's list; written under the leaf lock */
    struct reader_count *above; /* constant once the leaf hangs */
    struct counter slept;       /* threads put to sleep; under the leaf lock */
    struct counter woken;       /* those that have woken */
};

/* The node above leaf @index, with its way to the top. */
struct reader_count *reader_counts_above(struct reader_counts *counts, uint32_t index);
/* A thread of leaf @index wakes: if nobody there is awake, the nodes above are written next, on lines that the thread
 * of the last scan has; so fetch them all before the first use. */
void reader_counts_prefetch(const struct reader_scanned *scanned, uint32_t index);
/* In a fork's child, for so many leaves: there is no reason to look at any. */
void reader_counts_forget(struct reader_counts *counts, uint32_t leaves);
/* Is there a reason to look below node @index of @level?  Leaves are level 0, and not asked here. */
static inline bool reader_count_has_reasons(const struct reader_counts *counts, uint32_t level, uint32_t index)
{
    const struct reader_count *node = level == 1   ? &counts->level1[index]
                                      : level == 2 ? &counts->level2[index]
                                                   : &counts->level3[index];
    return tally_acquire(&node->reasons) != 0; /* [O20] */
}

/* Threads to look at, as bits; an acquire of what those did who sleep. */
static inline uint32_t reader_scanned_of(const struct reader_scanned *scanned)
{
    uint64_t word = rtrcu_load_acquire(&scanned->word); /* [O20] */
    return (uint32_t)word | (uint32_t)(word >> 32);
}

/* Is there a reason to look at the leaf at all? */
static inline bool reader_scanned_any(const struct reader_scanned *scanned)
{
    return reader_scanned_of(scanned) != 0 || rtrcu_load_acquire(&scanned->listed) != 0;
}

/* Is it awake, whether or not it is to leave meanwhile?  By the owner of @bit. */
static inline bool reader_scanned_is_set(const struct reader_scanned *scanned, uint32_t bit)
{
    return (uint32_t)rtrcu_load_relaxed(&scanned->word) & bit; /* [O26] */
}

/* Threads that are leaving.  Under the leaf lock. */
static inline uint32_t reader_scanned_candidates(const struct reader_scanned *scanned)
{
    return (uint32_t)(rtrcu_load_acquire(&scanned->word) >> 32);
}

/* Those of @slots that are awake leave.  Under the leaf lock. */
void reader_scanned_propose(struct reader_scanned *scanned, uint32_t slots);
/* Nobody is leaving any more: of those who were, @asleep sleep, unless they have woken.  Under the leaf lock. */
void reader_scanned_settle(struct reader_scanned *scanned, uint32_t asleep);
/* True: it slept. */
bool reader_scanned_add(struct reader_scanned *scanned, uint32_t bit);
void reader_scanned_clear(struct reader_scanned *scanned, uint32_t bit);
void reader_scanned_forget(struct reader_scanned *scanned, uint32_t survivor);
/* Tasks are on the leaf's list, or no longer.  Under the leaf lock. */
void reader_scanned_list(struct reader_scanned *scanned, bool listed);
/* Is @bit of the leaf, 0 = nobody, all that there is to look at in the whole tree?  @awake: its leaf's. */
bool reader_scanned_alone(const struct reader_counts *counts, const struct reader_scanned *scanned, uint32_t bit);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Transitions of a leaf's word of scanned threads, and the counts above it.
 *
 * tested by: test/unit/reader/scanned.cc
 */
#include "reader/scanned.h"

struct reader_count *reader_counts_above(struct reader_counts *counts, uint32_t index)
{
    struct reader_count *level1 = &counts->level1[index / READER_FANOUT];
    struct reader_count *level2 = &counts->level2[index / READER_FANOUT / READER_FANOUT];
    struct reader_count *top = counts->level3;
    rtrcu_store_relaxed(&level2->above, top);
    rtrcu_store_relaxed(&level1->above, level2); /* a thread that links a neighbouring leaf stores the same value */
    return level1;
}

void reader_counts_prefetch(const struct reader_scanned *scanned, uint32_t index)
{
    struct reader_count *first = scanned->above - index / READER_FANOUT;
    struct reader_counts *counts = container_of(first, struct reader_counts, level1);

    if (rtrcu_load_relaxed(&scanned->word) != 0)
        return;

    __builtin_prefetch(scanned->above, 1);
    __builtin_prefetch(&counts->level2[index / READER_FANOUT / READER_FANOUT], 1);
    __builtin_prefetch(counts->level3, 1);
}

void reader_counts_forget(struct reader_counts *counts, uint32_t leaves)
{
    for (uint32_t index = 0; index < leaves; index += READER_FANOUT) {
        if (index % (READER_FANOUT * READER_FANOUT) == 0)
            tally_reset(&counts->level2[index / READER_FANOUT / READER_FANOUT].reasons);
        tally_reset(&counts->level1[index / READER_FANOUT].reasons);
    }
    tally_reset(&counts->level3[0].reasons);
}

static void lower_count(struct reader_count *node)
{
    while (node && tally_lower(&node->reasons) == 1) /* at most once for each level */
        node = rtrcu_load_relaxed(&node->above);
}

/* [O21] Raising half: we raise the count of the node, those above it first; reader_scanned_add() and
 * reader_scanned_list() change the leaf after that.  Scans begin at the top.
 *  - Our count first:  the scan descends, and finds the leaf changed or not changed yet;
 *  - The scan's read first:  we have not changed the leaf yet, and fence after the change.
 * Forbidden: a scan skips a node AND a leaf below that node had to be scanned before the scan's fence. */
static void raise_count(struct reader_count *node)
{
    struct reader_count *above = rtrcu_load_relaxed(&node->above);
    uint32_t seen = tally_read(&node->reasons);
    bool raised = false;

    do { /* each failure means that another thread has changed the count */
        if (seen == 0 && above && !raised) {
            raise_count(above);
            raised = true;
        }
    } while (!tally_raise_from(&node->reasons, &seen));

    if (raised && seen != 0)
        lower_count(above);
}

bool reader_scanned_add(struct reader_scanned *scanned, uint32_t bit)
{
    uint64_t seen = rtrcu_load_relaxed(&scanned->word);
    bool raised = false;

    while (!(seen & bit)) { /* each failure means that another thread has added or removed a bit */
        if (seen == 0 && !raised) {
            raise_count(scanned->above); /* [O21] */
            raised = true;
        }
        if (rtrcu_compare_exchange(&scanned->word, &seen, seen | bit))
            break;
    }

    if (raised && seen != 0)
        lower_count(scanned->above);
    return !(seen & ((uint64_t)bit << 32 | bit)); /* true: the thread was neither scanned nor a candidate */
}

void reader_scanned_propose(struct reader_scanned *scanned, uint32_t slots)
{
    uint64_t seen = rtrcu_load_relaxed(&scanned->word), leaving;
    do { /* each failure means that another thread has added or removed a bit */
        leaving = seen & slots;
    } while (!rtrcu_compare_exchange(&scanned->word, &seen, (seen & ~leaving) | leaving << 32)); /* [O26] */
}

void reader_scanned_settle(struct reader_scanned *scanned, uint32_t asleep)
{
    uint64_t seen = rtrcu_load_relaxed(&scanned->word), next;

    do { /* each failure means that another thread has changed a bit */
        next = (uint32_t)seen | ((uint32_t)(seen >> 32) & ~asleep);
    } while (!rtrcu_compare_exchange(&scanned->word, &seen, next));

    counter_add_alone(&scanned->slept, (uint64_t)__builtin_popcount((uint32_t)(seen >> 32) & asleep & ~(uint32_t)seen));
    if (seen != 0 && next == 0)
        lower_count(scanned->above);
}

void reader_scanned_clear(struct reader_scanned *scanned, uint32_t bit)
{
    uint64_t seen = rtrcu_load_relaxed(&scanned->word), keep = ~((uint64_t)bit << 32 | bit);
    while (!rtrcu_compare_exchange(&scanned->word, &seen, seen & keep))
        ; /* each failure means that another thread has added or removed a bit */
    if (seen != 0 && (seen & keep) == 0)
        lower_count(scanned->above);
}

/* In a fork's child, after reader_counts_forget(): keep only the bit of @survivor, and count the leaf if that is not
 * 0. */
void reader_scanned_forget(struct reader_scanned *scanned, uint32_t survivor)
{
    rtrcu_store_relaxed(&scanned->word, survivor);
    rtrcu_store_relaxed(&scanned->listed, 0);
    if (survivor)
        raise_count(scanned->above);
}

void reader_scanned_list(struct reader_scanned *scanned, bool listed)
{
    bool was = rtrcu_load_relaxed(&scanned->listed);
    if (listed == was)
        return;

    if (listed)
        raise_count(scanned->above); /* [O21] */
    rtrcu_store_release(&scanned->listed, listed);
    if (!listed)
        lower_count(scanned->above);
}

bool reader_scanned_alone(const struct reader_counts *counts, const struct reader_scanned *scanned, uint32_t bit)
{
    uint32_t mine = bit ? 1 : 0;

    if (tally_acquire(&counts->level3[0].reasons) != mine) /* [O20] */
        return false;
    if (!bit)
        return true;

    for (const struct reader_count *node = scanned->above; node; node = rtrcu_load_relaxed(&node->above)) {
        if (tally_acquire(&node->reasons) != 1)
            return false;
    }
    return reader_scanned_of(scanned) == bit && rtrcu_load_acquire(&scanned->listed) == 0;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The transitions of marks, and the way through them.
 *
 * tested by: test/unit/callback/marks.cc
 */
#include "callback/marks.h"

static uint64_t bit_of(uint32_t index)
{
    return UINT64_C(1) << index % CALLBACK_MARKS;
}

/* [O27] Producer half, behind its bit in the leaf; the collector's half is callback_collect().
 *  - our bit first:     the collector, which takes the mark and then looks at the leaf, finds the bit;
 *  - its taking first:  we find no mark, and set it.
 * A thread that looks begins at the count, which is raised before the mark: so a producer that finds the mark set
 * finds the count raised too, though another has set both.
 * Forbidden: the mark is taken, or the count not seen, AND nobody has seen the bit.   litmus: O27 */
void callback_mark(struct callback_marks *marks, const struct reader_leaf *leaf)
{
    uint32_t index = reader_leaf_index(leaf);
    uint64_t *word = &marks->group[index / CALLBACK_MARKS].leaves;
    uint32_t *count = &marks->marked[index / CALLBACK_COUNTED];
    if (rtrcu_load_relaxed(word) & bit_of(index))
        return;
    rtrcu_fetch_add(count, 1);
    if (rtrcu_fetch_or(word, bit_of(index)) & bit_of(index))
        rtrcu_fetch_add(count, (uint32_t)-1); /* another has set it meanwhile, and counted it */
}

void callback_unmark(struct callback_marks *marks, const struct reader_leaf *leaf)
{
    uint32_t index = reader_leaf_index(leaf);
    uint64_t before = rtrcu_fetch_and(&marks->group[index / CALLBACK_MARKS].leaves, ~bit_of(index)); /* [O27] */
    if (!(before & bit_of(index)))
        return;
    uint32_t counted = rtrcu_fetch_add(&marks->marked[index / CALLBACK_COUNTED], (uint32_t)-1);
    invariant("INV-CA3", counted != 0);
    (void)counted;
}

void callback_marks_forget(struct callback_marks *marks, uint32_t leaves)
{
    for (uint32_t index = 0; index < leaves; index += CALLBACK_MARKS) {
        rtrcu_store_relaxed(&marks->group[index / CALLBACK_MARKS].leaves, 0);
        rtrcu_store_relaxed(&marks->marked[index / CALLBACK_COUNTED], 0);
    }
}

struct reader_leaf *callback_next_marked(const struct callback_marks *marks, struct reader_registry *registry,
                                         const struct reader_leaf *leaf)
{
    uint32_t index = leaf ? reader_leaf_index(leaf) + 1 : 0, leaves = reader_leaf_count(registry);
    while (index < leaves) {
        uint32_t step = CALLBACK_COUNTED;
        if (rtrcu_load_acquire(&marks->marked[index / CALLBACK_COUNTED])) { /* [O27] */
            uint64_t left = rtrcu_load_acquire(&marks->group[index / CALLBACK_MARKS].leaves) & -bit_of(index);
            if (left)
                return reader_leaf_at(registry,
                                      index / CALLBACK_MARKS * CALLBACK_MARKS + (uint32_t)__builtin_ctzll(left));
            step = CALLBACK_MARKS;
        }
        index = (index / step + 1) * step;
    }
    return NULL;
}

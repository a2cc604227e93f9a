/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Setting, clearing and iterating marks.
 *
 * tested by: test/unit/callback/marks.cc
 */
#include "callback/marks.h"

static uint64_t bit_of(uint32_t index)
{
    return UINT64_C(1) << index % CALLBACK_MARKS;
}

/* [O27] Producer half, after the producer has set its bit in the leaf; the collector's half is callback_collect().
 *  - Our bit first:  the collector, which clears the mark and then reads the leaf, finds our bit;
 *  - The collector's clearing first:  we find no mark, and set the mark.
 * Forbidden: the mark is cleared AND no thread has seen the bit.
 * A handler that interrupts us here may fork.  The child marks each leaf that has a bit.
 *  - We set the mark after the fork:  the child has set the mark already, or a collector of the child has cleared the
 *    mark, and finds nothing when it reads the leaf again;
 *  - We set the mark, or relied on a mark, before the fork:  our bit was set first, and the child has marked the leaf.
 * So no counter, and no state that only we know, changes between the bit and the mark. */
void callback_mark(struct callback_marks *marks, const struct reader_leaf *leaf)
{
    uint32_t index = reader_leaf_index(leaf);
    uint64_t *word = &marks->line[index / CALLBACK_MARKS].leaves;
    if (!(rtrcu_load_relaxed(word) & bit_of(index)))
        rtrcu_fetch_or(word, bit_of(index));
}

void callback_unmark(struct callback_marks *marks, const struct reader_leaf *leaf)
{
    uint32_t index = reader_leaf_index(leaf);
    rtrcu_fetch_and(&marks->line[index / CALLBACK_MARKS].leaves, ~bit_of(index)); /* [O27] */
}

void callback_marks_forget(struct callback_marks *marks, uint32_t leaves)
{
    for (uint32_t index = 0; index < leaves; index += CALLBACK_MARKS)
        rtrcu_store_relaxed(&marks->line[index / CALLBACK_MARKS].leaves, 0);
}

struct reader_leaf *callback_next_marked(const struct callback_marks *marks, struct reader_registry *registry,
                                         const struct reader_leaf *leaf)
{
    uint32_t index = leaf ? reader_leaf_index(leaf) + 1 : 0, leaves = reader_leaf_count(registry);

    for (; index < leaves; index = (index / CALLBACK_MARKS + 1) * CALLBACK_MARKS) {
        uint64_t left = rtrcu_load_acquire(&marks->line[index / CALLBACK_MARKS].leaves) & -bit_of(index); /* [O27] */
        if (left)
            return reader_leaf_at(registry, index / CALLBACK_MARKS * CALLBACK_MARKS + (uint32_t)__builtin_ctzll(left));
    }

    return NULL;
}

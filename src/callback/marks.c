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
 * Forbidden: the mark is taken AND nobody has seen the bit.
 * A handler that interrupts us here may fork, and its child marks each leaf that has a bit.
 *  - we set the mark behind that:   it is there, or a collector has taken it and finds nothing where it looks again;
 *  - we have set it, or rely on it: our bit was there first, and the child has marked the leaf.
 * So nothing that is counted, or known only here, stands between the bit and its mark. */
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

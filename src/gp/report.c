/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reports and carries: clearing a reader's bit in its leaf's word, and a node's bit in its parent's.
 *
 * Lock-free: a compare-and-swap that names the sequence.  A reporter may be preempted between its own bit and the
 * carry; the next gp_poll() does the carry then.
 * tested by: test/unit/gp/gp.cc
 */
#include "gp/gp.h"

struct gp_node *gp_node_at(struct gp *gp, uint32_t level, uint32_t index)
{
    switch (level) {
    case 0:
        return &gp->level0[index];
    case 1:
        return &gp->level1[index];
    case 2:
        return &gp->level2[index];
    default:
        return &gp->level3[index];
    }
}

uint64_t gp_word(uint64_t seq, uint32_t mask)
{
    return (seq / SEQ_STEP) << GP_WORD_SEQ_SHIFT | mask;
}

static uint64_t seq_bits_of(uint64_t word)
{
    return word >> GP_WORD_SEQ_SHIFT;
}

/* Clear @bit in the word of grace period @seq_bits.  True if the node owes nothing any more, whoever cleared it. */
bool gp_clear_bit(uint64_t *address, uint64_t seq_bits, uint64_t bit)
{
    uint64_t word = rtrcu_load_acquire(address);
    while (seq_bits_of(word) == seq_bits) { /* each failure means that another bit was cleared */
        if (!(word & bit))
            return (word & GP_WORD_OWES) == 0;
        if (rtrcu_compare_exchange(address, &word, word & ~bit))
            return ((word & ~bit) & GP_WORD_OWES) == 0;
    }
    return false;
}

/* Leaf @index owes nothing: tell the nodes above.  An action if the top became empty. */
unsigned int gp_carry(struct gp *gp, enum gp_kind kind, uint32_t index, uint64_t seq_bits)
{
    uint32_t top = rtrcu_load_relaxed(&gp->machine[kind].top);
    for (uint32_t level = 0; level < top; level++) {
        uint32_t bit = UINT32_C(1) << index % READER_FANOUT;
        index /= READER_FANOUT;
        if (!gp_clear_bit(&gp_node_at(gp, level + 1, index)->word[kind], seq_bits, bit))
            return GP_ACTION_NONE;
    }
    return 1u << kind;
}

/* [O4] Reporter half; the crank's half is gp_is_clear() and gp_end(), the waiter's gp_reached().
 * The section's accesses come before the clearing (a full fence), the crank reads the cleared word with an acquire, and
 * stores the sequence with a release.
 * Forbidden: a waiter returns AND an access of the section is not yet done.   litmus: O4 */
unsigned int gp_report(struct gp *gp, const struct reader_record *record)
{
    unsigned int actions = GP_ACTION_NONE;
    uint32_t index = reader_leaf_index(reader_leaf_of(record));
    for (int kind = 0; kind < GP_KINDS; kind++) {
        uint64_t *address = &gp->level0[index].word[kind];
        uint64_t word = rtrcu_load_acquire(address);
        if (!(word & reader_bit(record)))
            continue;
        if (gp_clear_bit(address, seq_bits_of(word), reader_bit(record)))
            actions |= gp_carry(gp, kind, index, seq_bits_of(word));
    }
    return actions;
}

unsigned int gp_report_anonymous(struct gp *gp)
{
    return reader_anonymous_leave(gp->registry) ? GP_ACTION_WAKE_NORMAL | GP_ACTION_WAKE_EXPEDITED : GP_ACTION_NONE;
}

uint32_t gp_owing(const struct gp *gp, enum gp_kind kind, const struct reader_leaf *leaf)
{
    return (uint32_t)(rtrcu_load_acquire(&gp->level0[reader_leaf_index(leaf)].word[kind]) & GP_WORD_MASK);
}

bool gp_leaf_owes(const struct gp *gp, enum gp_kind kind, const struct reader_leaf *leaf)
{
    return (rtrcu_load_acquire(&gp->level0[reader_leaf_index(leaf)].word[kind]) & GP_WORD_OWES) != 0;
}

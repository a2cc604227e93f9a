/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reports and carries: clearing a reader's bit in its leaf's word, and a node's bit in its parent's.
 *
 * Lock-free: a compare-and-swap that names the sequence.  If a reporter is preempted between clearing its bit and the
 * carry, the next gp_poll() carries.
 * tested by: test/unit/gp/gp.cc
 */
#include "gp/gp.h"

/* Node @index of @level is clear: clear its bit in its parent.  If that makes the parent clear, clear the parent's bit
 * too, and so on upward.  Returns an action if the top became clear. */
enum gp_actions gp_carry(struct gp *gp, enum gp_kind kind, uint32_t level, uint32_t index, struct gp_stamp stamp)
{
    uint32_t top = rtrcu_load_relaxed(&gp->machine[kind].top);
    for (; level < top; level++) {
        uint32_t bit = UINT32_C(1) << index % READER_FANOUT;
        index /= READER_FANOUT;
        if (!gp_node_report(gp_node_at(gp, level + 1, index), kind, stamp, bit))
            return GP_ACTION_NONE;
    }
    return gp_action_wake(kind);
}

/* [O4] Reporter half; the end's half is gp_is_clear() and gp_end(), the waiter's gp_reached().
 * The section's accesses precede the reporter's clearing of its bit (a full fence).  The end reads the cleared word
 * with an acquire, and stores the sequence with a release.
 * Forbidden: a waiter returns AND an access of the section is not yet done. */
enum gp_actions gp_report(struct gp *gp, const struct reader_record *record)
{
    enum gp_actions actions = GP_ACTION_NONE;
    struct reader_leaf *leaf = reader_leaf_of(record);
    struct gp_node *node = gp_leaf_node(gp, leaf);

    for (enum gp_kind kind = GP_NORMAL; kind < GP_KINDS; kind++) {
        struct gp_word word = gp_node_word(node, kind);
        if (!(gp_word_children(word) & reader_bit(record)))
            continue;
        if (gp_node_report(node, kind, gp_word_stamp(word), reader_bit(record)))
            actions |= gp_carry(gp, kind, 0, reader_leaf_index(leaf), gp_word_stamp(word));
    }

    return actions;
}

enum gp_actions gp_report_anonymous(struct gp *gp, enum reader_phase phase)
{
    return reader_anonymous_leave(gp->registry, phase) ? GP_ACTION_WAKE_NORMAL | GP_ACTION_WAKE_EXPEDITED
                                                       : GP_ACTION_NONE;
}

/* Does the leaf have holdouts, or tasks that are waited for? */
static bool leaf_is_pending(const struct gp *gp, enum gp_kind kind, const struct reader_leaf *leaf)
{
    return gp_word_is_pending(gp_node_word(gp_node_at(gp, 0, reader_leaf_index(leaf)), kind));
}

/* @index if each node above leaf @index has the bit that covers the leaf; else the first leaf after those that a clear
 * bit covers. */
static uint32_t skip(const struct gp *gp, enum gp_kind kind, uint32_t index)
{
    for (uint32_t level = rtrcu_load_relaxed(&gp->machine[kind].top); level > 0; level--) {
        uint32_t shift = (level - 1) * READER_FANOUT_SHIFT, child = index >> shift;
        const struct gp_node *node = gp_node_at(gp, level, child / READER_FANOUT);
        if (!(gp_word_children(gp_node_word(node, kind)) & UINT32_C(1) << child % READER_FANOUT))
            return (child + 1) << shift;
    }
    return index;
}

struct reader_leaf *gp_next_holdout_leaf(const struct gp *gp, enum gp_kind kind, const struct reader_leaf *leaf)
{
    uint32_t index = leaf ? reader_leaf_index(leaf) + 1 : 0, leaves = rtrcu_load_relaxed(&gp->machine[kind].leaves);

    while (index < leaves) {
        uint32_t next = skip(gp, kind, index);
        if (next == index && leaf_is_pending(gp, kind, reader_leaf_at(gp->registry, index)))
            return reader_leaf_at(gp->registry, index);
        index = next == index ? index + 1 : next;
    }

    return NULL;
}

uint32_t gp_holdouts(const struct gp *gp, enum gp_kind kind, const struct reader_leaf *leaf)
{
    return gp_word_children(gp_node_word(gp_node_at(gp, 0, reader_leaf_index(leaf)), kind));
}

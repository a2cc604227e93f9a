/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A node of the combining tree: its words, one for each kind of grace period, and the transitions that change them.
 *
 *  bits 0..31   children with holdouts: a leaf's readers, or the nodes below
 *  bit  32      the grace period waits for parked tasks of the leaf
 *  bits 34..63  stamp: low bits of the sequence of the word's grace period
 *
 * No other code writes a word.  In the table HOLDOUTS has bits of children, PARKED tasks, BOTH has both, CLEAR neither:
 *
 *  before   transition            after
 *  CLEAR    gp_node_begin()       CLEAR HOLDOUTS PARKED BOTH
 *  HOLDOUTS gp_node_park()        BOTH
 *  BOTH     gp_node_park()        BOTH
 *  HOLDOUTS gp_node_report()      HOLDOUTS CLEAR
 *  BOTH     gp_node_report()      BOTH PARKED
 *  PARKED   gp_node_unpark()      CLEAR
 *  BOTH     gp_node_unpark()      HOLDOUTS
 *  any      gp_node_forget()      CLEAR
 *
 *  gp_node_begin()   the scan, once per grace period, with its stamp; a leaf's under the leaf lock, if it has readers
 *  gp_node_park()    under the leaf lock, while the bit of the reader whose tasks arrive is set
 *  gp_node_report()  any thread: the reader's slow path, the poll that sees it outside, its exit, a carry upward
 *  gp_node_unpark()  any thread: the end of the last task that is waited for
 *  gp_node_forget()  in a fork's child, where there are no holdouts
 *
 * A report and an unpark name the stamp: a late call, from an old grace period, changes nothing.  Both calls may be
 * repeated, and return whether the node is clear, no matter which thread cleared it.
 *
 * INV-GP4: a word begins a new grace period only while it has no bits.
 * INV-GP5: the grace period starts to wait for more tasks only at a leaf with holdouts, which has not carried yet.
 */
#ifndef RTRCU_GP_NODE_H
#define RTRCU_GP_NODE_H

#include <assert.h>

#include "parked/parked.h"

enum gp_kind { GP_NORMAL, GP_EXPEDITED, GP_KINDS = READER_KINDS };

struct gp_node {
    uint64_t word[GP_KINDS]; /* atomic */
} __attribute__((aligned(BASE_CACHE_LINE)));

static_assert(sizeof(struct gp_node) == BASE_CACHE_LINE, "nodes share no cache line");

/* Value: names the grace period of a word. */
struct gp_stamp {
    uint64_t bits;
};

/* Value: the contents of a node's word. */
struct gp_word {
    uint64_t bits;
};

#define GP_NODE_CHILDREN UINT64_C(0xffffffff)
#define GP_NODE_PARKED (UINT64_C(1) << 32)
#define GP_NODE_PENDING (GP_NODE_CHILDREN | GP_NODE_PARKED)
#define GP_NODE_STAMP_SHIFT 34

static_assert(GP_NODE_CHILDREN == (UINT64_C(1) << READER_FANOUT) - 1, "a bit for each child");
static_assert(GP_NODE_PENDING >> GP_NODE_STAMP_SHIFT == 0, "the stamp does not overlap the other bits");

static inline struct gp_stamp gp_stamp_of(uint64_t seq)
{
    return (struct gp_stamp){(seq / SEQ_STEP) << GP_NODE_STAMP_SHIFT};
}

/* An acquire: synchronizes with the reporters. */
static inline struct gp_word gp_node_word(const struct gp_node *node, enum gp_kind kind)
{
    return (struct gp_word){rtrcu_load_acquire(&node->word[kind])}; /* [O4] where the word is clear */
}

static inline struct gp_stamp gp_word_stamp(struct gp_word word)
{
    return (struct gp_stamp){word.bits & ~((UINT64_C(1) << GP_NODE_STAMP_SHIFT) - 1)};
}

/* Children with holdouts, as bits. */
static inline uint32_t gp_word_children(struct gp_word word)
{
    return (uint32_t)(word.bits & GP_NODE_CHILDREN);
}

static inline bool gp_word_is_pending(struct gp_word word)
{
    return (word.bits & GP_NODE_PENDING) != 0;
}

static inline void gp_node_begin(struct gp_node *node, enum gp_kind kind, struct gp_stamp stamp, uint32_t children,
                                 bool parked)
{
    invariant("INV-GP4", !gp_word_is_pending(gp_node_word(node, kind)));
    rtrcu_store_release(&node->word[kind], stamp.bits | children | (parked ? GP_NODE_PARKED : 0));
}

static inline void gp_node_forget(struct gp_node *node, enum gp_kind kind, struct gp_stamp stamp)
{
    rtrcu_store_relaxed(&node->word[kind], stamp.bits);
}

void gp_node_park(struct gp_node *node, enum gp_kind kind);
/* Clear the bit @child.  True: the node is clear. */
bool gp_node_report(struct gp_node *node, enum gp_kind kind, struct gp_stamp stamp, uint32_t child);
bool gp_node_unpark(struct gp_node *node, enum gp_kind kind, struct gp_stamp stamp);

#endif

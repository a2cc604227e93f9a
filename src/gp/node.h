/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A node of the combining tree: its words, one for each kind of grace period, and the transitions that change them.
 *
 *  bits 0..31   children that owe a report: a leaf's readers, or the nodes below
 *  bit  32      parked tasks of the leaf are waited for
 *  bits 34..63  stamp: low bits of the sequence of the grace period that the word speaks of
 *
 * Nobody else writes a word.  In the table OWING has children that owe, PARKED tasks, BOTH has both, CLEAR neither:
 *
 *  before   transition            after
 *  CLEAR    gp_node_begin()       CLEAR OWING PARKED BOTH
 *  OWING    gp_node_park()        BOTH
 *  BOTH     gp_node_park()        BOTH
 *  OWING    gp_node_report()      OWING CLEAR
 *  BOTH     gp_node_report()      BOTH PARKED
 *  PARKED   gp_node_unpark()      CLEAR
 *  BOTH     gp_node_unpark()      OWING
 *  any      gp_node_forget()      CLEAR
 *
 *  gp_node_begin()   the scan, once a grace period, with its stamp; a leaf's under the leaf lock, if anybody is there
 *  gp_node_park()    under the leaf lock, while the reader whose tasks come still owes
 *  gp_node_report()  any thread: the reader's slow path, the poll that sees it outside, its leaving, a carry upward
 *  gp_node_unpark()  any thread: the end of the last task that is waited for
 *  gp_node_forget()  in a fork's child, where nobody owes anything
 *
 * A report and an unpark name the stamp: what comes late, from an old grace period, changes nothing.  Both may be said
 * again, and say whether the node owes nothing any more, whoever made it so.
 *
 * INV-GP4: a word that begins anew owes nothing.
 * INV-GP5: tasks come to be waited for only at a leaf that owes anyway, so that its report upward is still to come.
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

/* Value: by which a word names its grace period. */
struct gp_stamp {
    uint64_t bits;
};

/* Value: what a node's word said. */
struct gp_word {
    uint64_t bits;
};

#define GP_NODE_CHILDREN UINT64_C(0xffffffff)
#define GP_NODE_PARKED (UINT64_C(1) << 32)
#define GP_NODE_PENDING (GP_NODE_CHILDREN | GP_NODE_PARKED)
#define GP_NODE_STAMP_SHIFT 34

static_assert(GP_NODE_CHILDREN == (UINT64_C(1) << READER_FANOUT) - 1, "a bit for each child");
static_assert(GP_NODE_PENDING >> GP_NODE_STAMP_SHIFT == 0, "the stamp is apart from what is owed");

static inline struct gp_stamp gp_stamp_of(uint64_t seq)
{
    return (struct gp_stamp){(seq / SEQ_STEP) << GP_NODE_STAMP_SHIFT};
}

/* An acquire: of what those did who have reported. */
static inline struct gp_word gp_node_word(const struct gp_node *node, enum gp_kind kind)
{
    return (struct gp_word){rtrcu_load_acquire(&node->word[kind])}; /* [O4] where the word is clear */
}

static inline struct gp_stamp gp_word_stamp(struct gp_word word)
{
    return (struct gp_stamp){word.bits & ~((UINT64_C(1) << GP_NODE_STAMP_SHIFT) - 1)};
}

/* Children that owe, as bits. */
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
/* @child, a bit, owes no more.  True: nor does the node. */
bool gp_node_report(struct gp_node *node, enum gp_kind kind, struct gp_stamp stamp, uint32_t child);
bool gp_node_unpark(struct gp_node *node, enum gp_kind kind, struct gp_stamp stamp);

#endif

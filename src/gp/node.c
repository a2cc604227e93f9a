/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Transitions of a node's word that several threads may make at the same time.
 *
 * tested by: test/unit/gp/node.cc
 */
#include "gp/node.h"

/* Sets the flag for parked tasks.  INV-GP5: the bit of the thread whose tasks arrive is still set.  Other threads clear
 * it under the leaf lock, after they have promoted its tasks.  The owner clears it only when its record shows no parked
 * tasks, which is after this flag is set. */
void gp_node_park(struct gp_node *node, enum gp_kind kind)
{
    uint64_t before = rtrcu_fetch_or(&node->word[kind], GP_NODE_PARKED);
    invariant("INV-GP5", before & GP_NODE_PENDING);
    (void)before;
}

static bool has_stamp(uint64_t word, struct gp_stamp stamp)
{
    return gp_word_stamp((struct gp_word){word}).bits == stamp.bits;
}

static bool clear(uint64_t *address, struct gp_stamp stamp, uint64_t bit)
{
    uint64_t word = rtrcu_load_acquire(address);
    while (has_stamp(word, stamp)) { /* each failure means that another thread cleared a bit */
        if (!(word & bit) || rtrcu_compare_exchange(address, &word, word & ~bit))
            return !gp_word_is_pending((struct gp_word){word & ~bit});
    }
    return false;
}

bool gp_node_report(struct gp_node *node, enum gp_kind kind, struct gp_stamp stamp, uint32_t child)
{
    return clear(&node->word[kind], stamp, child);
}

bool gp_node_unpark(struct gp_node *node, enum gp_kind kind, struct gp_stamp stamp)
{
    return clear(&node->word[kind], stamp, GP_NODE_PARKED);
}

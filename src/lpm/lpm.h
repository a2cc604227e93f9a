/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Longest prefix match: a front table of 16 bits, and nodes of 8 bits below it that updates copy and publish.
 *
 * Knows: the public interface, callbacks.  Must not know: the values.
 *
 * A prefix of at most 16 bits is in @values of its table, by its code; a longer prefix is in the node that contains its
 * last bit.  The code of a prefix within a node, or the front table, is a 1 followed by its bits: codes sort by length.
 * Front words, and the words of a node, hold the value that results from all prefixes of an address, so a look-up reads
 * no prefix.
 *
 * Locks: lpm.lock guards a table's prefixes and nodes.  Memory is allocated before it is taken.
 *
 * INV-LP1: for each address the last word that a look-up reads is the value of the longest prefix of that address.
 * INV-LP2: @inherited of a node is the value of the longest prefix that ends above it, for all addresses of the node.
 *
 * A published node changes only in @inherited and in the words that lead to other nodes; a retired node does not
 * change.
 */
#ifndef RTRCU_LPM_LPM_H
#define RTRCU_LPM_LPM_H

#include <rtrcu/lpm.h>

#include "api/api.h"

#define LPM_DEPTH_MAX ((RTRCU_LPM_BITS_MAX - RTRCU_LPM_FRONT_BITS) / 8)
#define LPM_FRONT_WORDS (1U << RTRCU_LPM_FRONT_BITS)
/* The number of prefixes of 1 to 8 bits. */
#define LPM_PREFIXES_MAX 510

struct lpm {
    struct rtrcu_lpm shown;
    unsigned int bits; /* constant */
    uintptr_t
        *values; /* constant pointer: values of the prefixes of at most 16 bits, indexed by code; each is atomic */
    struct lock lock;
    uint64_t prefixes, nodes, node_bytes; /* under the lock */
};

/* A prefix that ends in a node.  The prefixes of a node are sorted by code. */
struct lpm_prefix {
    uint16_t code;
    uint16_t word; /* index of the prefix's value among the node's words */
};

/* The content of a node while an update changes it.  @room lpm */
struct lpm_draft {
    unsigned int prefixes, children, words_count;
    uint16_t codes[LPM_PREFIXES_MAX];   /* sorted */
    uintptr_t values[LPM_PREFIXES_MAX]; /* the value of each code */
    uintptr_t child[256];               /* for each byte: the word that leads to a node, or 0 */
    uint64_t starts[4];                 /* run starts, as in the node; set by lpm_draft_lay_out() */
    uint16_t places[LPM_PREFIXES_MAX];  /* for each code: index of its value among @words */
    uintptr_t words[256 + LPM_PREFIXES_MAX];
};

static inline struct lpm *lpm_of(struct rtrcu_lpm *shown)
{
    return container_of(shown, struct lpm, shown);
}
static inline const struct lpm *lpm_of_const(const struct rtrcu_lpm *shown)
{
    return container_of_const(shown, struct lpm, shown);
}
/* The node of a word, or NULL. */
static inline struct rtrcu_lpm_node *lpm_node_of(uintptr_t word)
{
    return word & RTRCU_LPM_NODE ? (struct rtrcu_lpm_node *)(word - RTRCU_LPM_NODE) : NULL;
}
static inline uint32_t lpm_code(uint32_t bits, unsigned int width, unsigned int length)
{
    return UINT32_C(1) << length | bits >> (width - length);
}

/* ---- nodes: node.c ---- */

const struct lpm_prefix *lpm_node_prefixes(const struct rtrcu_lpm_node *node);
/* The address of @byte's word. */
uintptr_t *lpm_node_word(struct rtrcu_lpm_node *node, unsigned int byte);
/* Publish @word, which leads to a node or is a value, by storing it at @link. */
void lpm_publish(uintptr_t *link, uintptr_t word);
/* Make @value the inherited value of @node, and of the nodes below it whose addresses have no longer prefix. */
void lpm_inherit(struct rtrcu_lpm_node *node, uintptr_t value);
/* Call lpm_inherit() for each child of @node, with the child's new inherited value, after @node's prefixes changed. */
void lpm_inherit_children(struct rtrcu_lpm_node *node);

/* ---- drafts: draft.c ---- */

/* Fill @draft with the content of @node; NULL: make it empty. */
void lpm_draft_read(struct lpm_draft *draft, struct rtrcu_lpm_node *node);
/* Find @code.  Returns 1 + its index; 0: it is absent. */
unsigned int lpm_draft_find(const struct lpm_draft *draft, uint32_t code);
void lpm_draft_add(struct lpm_draft *draft, uint32_t code, uintptr_t value);
void lpm_draft_remove(struct lpm_draft *draft, unsigned int index);
/* Set the word by which @byte leads to a node; 0: it leads to none. */
void lpm_draft_set_child(struct lpm_draft *draft, unsigned int byte, uintptr_t word);
/* Compute the runs and words.  Returns the size in bytes of a node with these. */
size_t lpm_draft_lay_out(struct lpm_draft *draft);
/* Fill @node, not yet published, with the draft, which was laid out. */
void lpm_draft_init_node(const struct lpm_draft *draft, struct rtrcu_lpm_node *node, uintptr_t inherited);

#endif

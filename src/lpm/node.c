/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Published nodes: their words and prefixes, and the two words that change.
 *
 * tested by: test/unit/lpm/update.cc
 */
#include "lpm/lpm.h"

const struct lpm_prefix *lpm_node_prefixes(const struct rtrcu_lpm_node *node)
{
    return (const struct lpm_prefix *)&node->words[node->words_count];
}

uintptr_t *lpm_node_word(struct rtrcu_lpm_node *node, unsigned int byte)
{
    uint64_t up_to = node->starts[byte / 64] & ~UINT64_C(0) >> (63 - byte % 64);
    return &node->words[node->ranks[byte / 64] + rtrcu_popcount(up_to) - 1];
}

/* [O36] Update's half; the look-up's half is rtrcu_lpm_step().
 *  - Our store first:  the look-up reads the new word with an acquire, and sees the whole content of the node or value;
 *  - The look-up's load first:  the look-up reads the former word, and stays in nodes that outlive its section.
 * Forbidden: the look-up reads the new word, AND the former content of the memory of the node or value. */
void lpm_publish(uintptr_t *link, uintptr_t word)
{
    rtrcu_store_release(link, word);
}

/* Set in @covered, as bits, the bytes that a prefix of @node contains. */
static void find_covered(const struct rtrcu_lpm_node *node, uint64_t covered[4])
{
    const struct lpm_prefix *prefixes = lpm_node_prefixes(node);
    for (unsigned int i = 0; i < node->prefixes; i++) {
        unsigned int free_bits = 8 - (31 - (unsigned int)__builtin_clz(prefixes[i].code));
        unsigned int first = (unsigned int)prefixes[i].code << free_bits & 255;
        for (unsigned int byte = first; byte < first + (1U << free_bits); byte++)
            covered[byte / 64] |= UINT64_C(1) << byte % 64;
    }
}

/* Each recursive call descends one level of the address.  If a node has @value already, so have its children, except
 * those inside a prefix of the node.  [O36] Same ordering as in lpm_publish(). */
void lpm_inherit(struct rtrcu_lpm_node *node, uintptr_t value)
{
    if (rtrcu_load_relaxed(&node->inherited) == value)
        return;
    rtrcu_store_release(&node->inherited, value);

    uint64_t covered[4] = {0};
    find_covered(node, covered);
    for (unsigned int byte = 0, word = 0; byte < 256; byte++) {
        word += node->starts[byte / 64] >> byte % 64 & 1;
        struct rtrcu_lpm_node *child = lpm_node_of(rtrcu_load_relaxed(&node->words[word - 1]));
        if (child && !(covered[byte / 64] >> byte % 64 & 1))
            lpm_inherit(child, value);
    }
}

static uintptr_t value_of_code(const struct rtrcu_lpm_node *node, uint32_t code)
{
    const struct lpm_prefix *prefixes = lpm_node_prefixes(node);
    for (unsigned int low = 0, high = node->prefixes; low < high;) { /* halves the range */
        unsigned int middle = (low + high) / 2;
        if (prefixes[middle].code == code)
            return rtrcu_load_relaxed(&node->words[prefixes[middle].word]);
        if (prefixes[middle].code < code)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

static uintptr_t value_at(const struct rtrcu_lpm_node *node, unsigned int byte)
{
    uintptr_t value = 0;
    for (unsigned int length = 8; length > 0 && !value; length--)
        value = value_of_code(node, lpm_code(byte, 8, length));
    return value ? value : rtrcu_load_relaxed(&node->inherited);
}

void lpm_inherit_children(struct rtrcu_lpm_node *node)
{
    for (unsigned int byte = 0, word = 0; byte < 256; byte++) {
        word += node->starts[byte / 64] >> byte % 64 & 1;
        struct rtrcu_lpm_node *child = lpm_node_of(rtrcu_load_relaxed(&node->words[word - 1]));
        if (child)
            lpm_inherit(child, value_at(node, byte));
    }
}

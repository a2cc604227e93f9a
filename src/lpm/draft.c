/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Drafts: a node's content taken apart, changed, and laid out for the copy that replaces the node.
 *
 * tested by: test/unit/lpm/update.cc
 */
#include <string.h>

#include "lpm/lpm.h"

void lpm_draft_read(struct lpm_draft *draft, struct rtrcu_lpm_node *node)
{
    draft->prefixes = draft->children = 0;
    memset(draft->child, 0, sizeof(draft->child));
    if (!node)
        return;

    const struct lpm_prefix *prefixes = lpm_node_prefixes(node);
    for (; draft->prefixes < node->prefixes; draft->prefixes++) {
        draft->codes[draft->prefixes] = prefixes[draft->prefixes].code;
        draft->values[draft->prefixes] = rtrcu_load_relaxed(&node->words[prefixes[draft->prefixes].word]);
    }
    for (unsigned int byte = 0, word = 0; byte < 256; byte++) {
        word += node->starts[byte / 64] >> byte % 64 & 1;
        uintptr_t leads_to = rtrcu_load_relaxed(&node->words[word - 1]);
        if (leads_to & RTRCU_LPM_NODE)
            lpm_draft_set_child(draft, byte, leads_to);
    }
}

/* Index of the first code that is not below @code. */
static unsigned int place_of(const struct lpm_draft *draft, uint32_t code)
{
    unsigned int low = 0, high = draft->prefixes;
    while (low < high) { /* halves the range */
        unsigned int middle = (low + high) / 2;
        if (draft->codes[middle] < code)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

unsigned int lpm_draft_find(const struct lpm_draft *draft, uint32_t code)
{
    unsigned int place = place_of(draft, code);
    return place < draft->prefixes && draft->codes[place] == code ? place + 1 : 0;
}

void lpm_draft_add(struct lpm_draft *draft, uint32_t code, uintptr_t value)
{
    unsigned int place = place_of(draft, code), after = draft->prefixes - place;
    memmove(&draft->codes[place + 1], &draft->codes[place], after * sizeof(draft->codes[0]));
    memmove(&draft->values[place + 1], &draft->values[place], after * sizeof(draft->values[0]));
    draft->codes[place] = (uint16_t)code;
    draft->values[place] = value;
    draft->prefixes++;
}

void lpm_draft_remove(struct lpm_draft *draft, unsigned int index)
{
    unsigned int after = draft->prefixes - index - 1;
    memmove(&draft->codes[index], &draft->codes[index + 1], after * sizeof(draft->codes[0]));
    memmove(&draft->values[index], &draft->values[index + 1], after * sizeof(draft->values[0]));
    draft->prefixes--;
}

void lpm_draft_set_child(struct lpm_draft *draft, unsigned int byte, uintptr_t word)
{
    draft->children += (word != 0) - (draft->child[byte] != 0);
    draft->child[byte] = word;
}

/* The prefix, as 1 + its index, that decides each byte; longer ones overwrite shorter ones. */
static void paint(const struct lpm_draft *draft, uint16_t painted[256])
{
    memset(painted, 0, 256 * sizeof(painted[0]));
    for (unsigned int i = 0; i < draft->prefixes; i++) {
        unsigned int free_bits = 8 - (31 - (unsigned int)__builtin_clz(draft->codes[i]));
        unsigned int first = (unsigned int)draft->codes[i] << free_bits & 255;
        for (unsigned int byte = first; byte < first + (1U << free_bits); byte++)
            painted[byte] = (uint16_t)(i + 1);
    }
}

size_t lpm_draft_lay_out(struct lpm_draft *draft)
{
    uint16_t painted[256];
    paint(draft, painted);
    memset(draft->starts, 0, sizeof(draft->starts));
    memset(draft->places, 255, sizeof(draft->places));
    draft->words_count = 0;

    for (unsigned int byte = 0; byte < 256; byte++) {
        unsigned int prefix = painted[byte];
        uintptr_t word = draft->child[byte];
        if (!word && prefix)
            word = draft->values[prefix - 1];
        if (byte == 0 || word != draft->words[draft->words_count - 1]) {
            draft->starts[byte / 64] |= UINT64_C(1) << byte % 64;
            draft->words[draft->words_count++] = word;
        }
        if (prefix && !draft->child[byte])
            draft->places[prefix - 1] = (uint16_t)(draft->words_count - 1);
    }
    for (unsigned int i = 0; i < draft->prefixes; i++) {
        if (draft->places[i] != UINT16_MAX)
            continue;
        draft->places[i] = (uint16_t)draft->words_count;
        draft->words[draft->words_count++] = draft->values[i];
    }
    return sizeof(struct rtrcu_lpm_node) + draft->words_count * sizeof(uintptr_t) +
           draft->prefixes * sizeof(struct lpm_prefix);
}

void lpm_draft_init_node(const struct lpm_draft *draft, struct rtrcu_lpm_node *node, uintptr_t inherited)
{
    unsigned int rank = 0;
    for (unsigned int i = 0; i < 4; i++) {
        node->starts[i] = draft->starts[i];
        node->ranks[i] = (uint8_t)rank;
        rank += rtrcu_popcount(draft->starts[i]);
    }
    node->words_count = (uint16_t)draft->words_count;
    node->prefixes = (uint16_t)draft->prefixes;
    rtrcu_store_relaxed(&node->inherited, inherited);
    for (unsigned int i = 0; i < draft->words_count; i++)
        rtrcu_store_relaxed(&node->words[i], draft->words[i]);

    struct lpm_prefix *prefixes = (struct lpm_prefix *)&node->words[draft->words_count];
    for (unsigned int i = 0; i < draft->prefixes; i++)
        prefixes[i] = (struct lpm_prefix){draft->codes[i], draft->places[i]};
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Creation and destruction of tables of prefixes, and their counters.
 *
 * tested by: test/unit/lpm/update.cc
 */
#include <errno.h>
#include <stdlib.h>

#include "lpm/lpm.h"

/* The words of the front table, then values for codes of up to 17 bits. */
#define LPM_FRONT_BYTES ((size_t)LPM_FRONT_WORDS * 3 * sizeof(uintptr_t))

int rtrcu_lpm_create(struct rtrcu_lpm **shown, unsigned int bits)
{
    if (bits < 1 || bits > RTRCU_LPM_BITS_MAX)
        return -EINVAL;

    CALL_SCOPE();
    api_init();
    struct lpm *lpm = malloc(sizeof(*lpm));
    uintptr_t *words = plat_mem_pages(LPM_FRONT_BYTES);
    if (!lpm || !words) {
        free(lpm);
        if (words)
            plat_mem_release(words, LPM_FRONT_BYTES);
        return -ENOMEM;
    }

    *lpm = (struct lpm){.shown = {words}, .bits = bits, .values = words + LPM_FRONT_WORDS};
    lock_init(&lpm->lock, LOCK_RANK_LPM);
    *shown = &lpm->shown;
    return 0;
}

/* Free the node of @word, if it leads to a node, and all nodes below.  Recursive, by one level of the address each
 * time. */
static void free_below(uintptr_t word)
{
    struct rtrcu_lpm_node *node = lpm_node_of(word);
    if (!node)
        return;
    for (unsigned int i = 0; i < node->words_count; i++)
        free_below(rtrcu_load_relaxed(&node->words[i]));
    free(node);
}

void rtrcu_lpm_destroy(struct rtrcu_lpm *shown)
{
    if (!shown)
        return;
    CALL_SCOPE();
    for (uint32_t slot = 0; slot < LPM_FRONT_WORDS; slot++)
        free_below(rtrcu_load_relaxed(&shown->front[slot]));
    plat_mem_release(shown->front, LPM_FRONT_BYTES);
    free(lpm_of(shown));
}

void rtrcu_lpm_stats(struct rtrcu_lpm *shown, struct rtrcu_lpm_counters *stats)
{
    CALL_SCOPE();
    struct lpm *lpm = lpm_of(shown);
    lock_acquire(&lpm->lock);
    *stats = (struct rtrcu_lpm_counters){
        .prefixes = lpm->prefixes, .nodes = lpm->nodes, .bytes = lpm->node_bytes + sizeof(*lpm) + LPM_FRONT_BYTES};
    lock_release(&lpm->lock);
}

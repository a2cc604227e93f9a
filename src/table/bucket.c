/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The entries of a bucket: slots, overflow lines and chain.
 *
 * A slot holds an entry while its pointer is not NULL.  A tag only saves look-ups from reading nodes with other hashes;
 * it stays after a removal.
 */
#include "table/table.h"

static inline unsigned int tag_shift(unsigned int slot)
{
    return slot * 8;
}

struct rtrcu_hash_node *table_next(struct table_place *place)
{
    for (;;) { /* bounded by the length of the bucket */
        uintptr_t *from = place->node ? &place->node->link : &place->line->link;
        while (!place->node && place->slot < RTRCU_HASH_SLOTS) {
            struct rtrcu_hash_node *node = rtrcu_load_acquire(&place->line->slots[place->slot++]);
            if (node)
                return node;
        }

        uintptr_t link = rtrcu_load_acquire(from);
        if (link & RTRCU_HASH_LINK_NODE)
            return place->node = (struct rtrcu_hash_node *)(link - RTRCU_HASH_LINK_NODE);
        if (!link)
            return NULL;
        *place = (struct table_place){(struct rtrcu_hash_line *)link, 0, NULL};
    }
}

static bool is_wanted(const struct table_search *search, const struct rtrcu_hash_node *node)
{
    if (node == search->node)
        return true;
    return search->match && node->hash == search->mixed && search->match(node, search->key);
}

static bool find_in_line(struct rtrcu_hash_line *line, struct table_search *search)
{
    uint64_t head = rtrcu_load_relaxed(&line->head), tag = search->mixed >> 56;
    for (unsigned int slot = 0; slot < RTRCU_HASH_SLOTS; slot++) {
        struct rtrcu_hash_node *node = rtrcu_load_relaxed(&line->slots[slot]);
        if (!node) {
            if (!search->free) {
                search->free = line;
                search->free_slot = slot;
            }
            continue;
        }

        search->entries++;
        if ((head >> tag_shift(slot) & UINT8_MAX) == tag && is_wanted(search, node)) {
            search->found = node;
            search->slot = &line->slots[slot];
            return true;
        }
    }
    return false;
}

void table_find(struct rtrcu_hash_line *bucket, struct table_search *search)
{
    for (struct rtrcu_hash_line *line = bucket; line;) { /* bounded by the length of the bucket */
        if (find_in_line(line, search))
            return;

        uintptr_t *from = &line->link, link;
        while ((link = rtrcu_load_relaxed(from)) & RTRCU_HASH_LINK_NODE) {
            struct rtrcu_hash_node *node = (struct rtrcu_hash_node *)(link - RTRCU_HASH_LINK_NODE);
            search->entries++;
            if (is_wanted(search, node)) {
                search->found = node;
                search->link = from;
                return;
            }
            from = &node->link;
        }
        line = (struct rtrcu_hash_line *)link;
    }
}

/* [O29] Updater's half; the look-up's half is rtrcu_hash_in_line().
 *  - Our store of the pointer first:  a look-up that loads the new pointer sees the tag and the node's content, and so
 *    does every later look-up of that thread.
 *  - The look-up's load of the pointer first:  the look-up finds the slot free, or finds the slot's former entry.
 * Forbidden: a look-up finds the node AND reads the node's content from before the insert, or does not find the node
 * again. */
void table_line_put(struct rtrcu_hash_line *line, unsigned int slot, struct rtrcu_hash_node *node)
{
    uint64_t others = rtrcu_load_relaxed(&line->head) & ~((uint64_t)UINT8_MAX << tag_shift(slot));
    rtrcu_store_relaxed(&line->head, others | (node->hash >> 56) << tag_shift(slot));
    rtrcu_store_release(&line->slots[slot], node);
}

void table_put(struct rtrcu_hash_line *bucket, const struct table_search *search, struct rtrcu_hash_node *node)
{
    if (search->free) {
        table_line_put(search->free, search->free_slot, node);
        return;
    }
    rtrcu_store_relaxed(&node->link, rtrcu_load_relaxed(&bucket->link));
    rtrcu_store_release(&bucket->link, (uintptr_t)node + RTRCU_HASH_LINK_NODE);
}

void table_exchange(const struct table_search *search, struct rtrcu_hash_node *fresh)
{
    if (search->slot) {
        rtrcu_store_release(search->slot, fresh);
        return;
    }

    uintptr_t rest = rtrcu_load_relaxed(&search->found->link);
    if (fresh)
        rtrcu_store_relaxed(&fresh->link, rest);
    rtrcu_store_release(search->link, fresh ? (uintptr_t)fresh + RTRCU_HASH_LINK_NODE : rest);
}

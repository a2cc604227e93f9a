/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Generations: their memory, and the move of a bucket from one to the next.
 */
#include <stdlib.h>

#include "table/table.h"

#define BLOCK_MIN ((uint64_t)4096)
#define BLOCK_MAX ((uint64_t)2 * 1024 * 1024)
/* A block has one overflow line for this many buckets.  When a table has doubled, fewer than 1 bucket in 100 has more
 * than six entries. */
#define BLOCK_PART 64

struct generation *generation_create(const struct table *table, uint64_t buckets)
{
    struct generation *generation = malloc(sizeof(*generation));
    if (!generation)
        return NULL;

    uint64_t bytes = buckets * sizeof(struct rtrcu_hash_line);
    struct rtrcu_hash_line *lines = plat_mem_pages(bytes);
    if (!lines) {
        free(generation);
        return NULL;
    }

    int64_t share = table_bound(buckets) / (int64_t)(table->stripe_mask + 1);
    *generation = (struct generation){.shown = {.lines = lines, .mask = buckets - 1},
                                      .ask_above = share,
                                      .ask_below = buckets > table->config.buckets ? share / 4 : -1,
                                      .bytes = bytes};
    return generation;
}

bool generation_touch(struct generation *generation)
{
    uint64_t end = generation->done + TABLE_STEP_TOUCH;
    if (end > generation->bytes)
        end = generation->bytes;
    for (uint64_t at = generation->done; at < end; at += 4096)
        rtrcu_store_relaxed(&generation->shown.lines[at / sizeof(struct rtrcu_hash_line)].head, 0);

    generation->done = end;
    return end == generation->bytes;
}

bool generation_supply(struct generation *generation, uint64_t lines)
{
    if (generation->spares >= lines)
        return true;

    uint64_t bytes = generation->bytes / BLOCK_PART, least = (lines + 1) * sizeof(struct rtrcu_hash_line);
    bytes = bytes > BLOCK_MAX ? BLOCK_MAX : bytes;
    bytes = bytes > least ? bytes : least;
    bytes = (bytes + BLOCK_MIN - 1) / BLOCK_MIN * BLOCK_MIN;
    struct table_block *block = plat_mem_pages(bytes);
    if (!block)
        return false;

    *block = (struct table_block){generation->blocks, bytes};
    generation->blocks = block;
    generation->spare = (struct rtrcu_hash_line *)block + 1;
    generation->spares = bytes / sizeof(struct rtrcu_hash_line) - 1;
    for (uint64_t at = 0; at < generation->spares; at += 4096 / sizeof(struct rtrcu_hash_line))
        rtrcu_store_relaxed(&generation->spare[at].head, 0);
    return true;
}

bool generation_free_piece(struct generation *generation)
{
    struct table_block *block = generation->blocks;
    if (block) {
        generation->blocks = block->older;
        plat_mem_release(block, block->bytes);
        return false;
    }

    uint64_t piece = generation->bytes > TABLE_STEP_UNMAP ? TABLE_STEP_UNMAP : generation->bytes;
    generation->bytes -= piece;
    plat_mem_release((char *)generation->shown.lines + generation->bytes, piece);
    if (generation->bytes)
        return false;

    if (generation->table)
        free(generation->table->stripes);
    free(generation->table);
    free(generation);
    return true;
}

/* ---- moving ---- */

/* An upper bound of the overflow lines that the entries of @old need in @target. */
static uint64_t lines_needed(struct rtrcu_hash_line *old, const struct rtrcu_hash_line *target)
{
    uint64_t entries = 0, room = 0;
    struct table_place place = {old, 0, NULL};
    while (table_next(&place)) /* bounded by the length of the bucket */
        entries++;
    for (unsigned int slot = 0; slot < RTRCU_HASH_SLOTS; slot++)
        room += rtrcu_load_relaxed(&target->slots[slot]) == NULL;
    return entries <= room ? 0 : entries / RTRCU_HASH_SLOTS + 1;
}

static bool is_absent(struct rtrcu_hash_line *bucket, struct rtrcu_hash_node *node)
{
    struct table_search search = {.node = node, .mixed = node->hash};
    table_find(bucket, &search);
    return !search.found;
}

/* Put @node into a free slot of @line.  False: no slot is free. */
static bool put_in_line(struct rtrcu_hash_line *line, struct rtrcu_hash_node *node)
{
    unsigned int slot = 0;
    while (slot < RTRCU_HASH_SLOTS && rtrcu_load_relaxed(&line->slots[slot]))
        slot++;
    if (slot < RTRCU_HASH_SLOTS)
        table_line_put(line, slot, node);
    return slot < RTRCU_HASH_SLOTS;
}

/* Put @node into its bucket of @to.  Free slots are searched only in the bucket's first line and in the overflow line
 * that was added last, so the time of a move is proportional to the number of entries, even if all have the same hash.
 * The target may have readers: the second half of a shrink fills a bucket that the first half has made reachable. */
static void put_moved(struct generation *to, struct rtrcu_hash_node *node)
{
    struct rtrcu_hash_line *bucket = &to->shown.lines[node->hash & to->shown.mask];
    invariant("INV-TB1", is_absent(bucket, node));
    uintptr_t link = rtrcu_load_relaxed(&bucket->link);
    if (put_in_line(bucket, node))
        return;
    if (link && !(link & RTRCU_HASH_LINK_NODE) && put_in_line((struct rtrcu_hash_line *)link, node))
        return;

    struct rtrcu_hash_line *line = to->spare++;
    to->spares--;
    table_line_put(line, 0, node);
    rtrcu_store_relaxed(&line->link, link);
    rtrcu_store_release(&bucket->link, (uintptr_t)line);
}

/* [O30] Mover's half; the look-up's half is rtrcu_hash_bucket().  The mover never writes a node's link (INV-TB3), since
 * look-ups that began in the old bucket follow that link.
 *  - The mover's MOVED first:  the look-up continues in the next generation, whose bucket is complete.
 *  - The look-up's load first:  the look-up reads the old bucket, which stays unchanged (INV-TB2); the section around
 *    the look-up keeps the entries and the old generation allocated.
 * Forbidden: a look-up sees MOVED AND misses an entry that was in the old bucket. */
uint64_t table_bucket_move(struct generation *from, struct generation *to, uint64_t bucket, bool may_supply)
{
    struct rtrcu_hash_line *old = &from->shown.lines[bucket];
    if (rtrcu_load_relaxed(&old->head) & RTRCU_HASH_MOVED)
        return 0;

    uint64_t needed = lines_needed(old, &to->shown.lines[bucket & to->shown.mask]);
    if (needed > (may_supply ? to->spares : 0))
        return needed;

    struct table_place place = {old, 0, NULL};
    struct rtrcu_hash_node *node;
    while ((node = table_next(&place))) /* bounded by the length of the bucket */
        put_moved(to, node);
    rtrcu_store_release(&old->head, rtrcu_load_relaxed(&old->head) | RTRCU_HASH_MOVED);
    return 0;
}

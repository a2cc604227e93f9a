/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Walks through a table by the reversed bits of the hash, so that a position means the same in every generation.
 *
 * Of 2^k buckets, each holds the hashes that end in its k bits.  Reversed, these hashes are one interval, which the
 * buckets of larger generations divide.  Each step reports the interval of the largest generation that it passed: no
 * entry of that interval is in a different bucket, not even in the middle of a shrink.
 */
#include "table/table.h"

static uint64_t reverse(uint64_t bits)
{
    bits = (bits >> 1 & UINT64_C(0x5555555555555555)) | (bits & UINT64_C(0x5555555555555555)) << 1;
    bits = (bits >> 2 & UINT64_C(0x3333333333333333)) | (bits & UINT64_C(0x3333333333333333)) << 2;
    bits = (bits >> 4 & UINT64_C(0x0f0f0f0f0f0f0f0f)) | (bits & UINT64_C(0x0f0f0f0f0f0f0f0f)) << 4;
    return __builtin_bswap64(bits);
}

/* The bucket that has the position @at, and the last position of its interval. */
static struct rtrcu_hash_line *bucket_at(const struct table *table, uint64_t at, uint64_t *last)
{
    uint64_t mixed = reverse(at), largest = 0;
    const struct rtrcu_hash_generation *generation = rtrcu_load_acquire(&table->shown.current);
    for (;;) { /* bounded by the number of generations */
        struct rtrcu_hash_line *line = &generation->lines[mixed & generation->mask];
        largest |= generation->mask;
        *last = at | ~reverse(largest);
        if (!(rtrcu_load_acquire(&line->head) & RTRCU_HASH_MOVED))
            return line;
        generation = rtrcu_load_acquire(&generation->next);
    }
}

static void walk_bucket(const struct table *table, uint64_t *at, uint64_t *last, rtrcu_hash_visit_t function,
                        void *argument)
{
    struct table_place place = {bucket_at(table, *at, last), 0, NULL};
    struct rtrcu_hash_node *node;
    while ((node = table_next(&place))) { /* bounded by the length of the bucket */
        uint64_t position = reverse(node->hash);
        if (position >= *at && position <= *last)
            function(node, argument);
    }
}

bool rtrcu_hash_walk(struct rtrcu_hash *table, uint64_t *cursor, unsigned int buckets, rtrcu_hash_visit_t function,
                     void *argument)
{
    uint64_t at = *cursor, last = at - 1;
    buckets = buckets ? buckets : 1; /* so that a loop until no buckets are left ends */
    bool is_left = true;

    rcu_read_lock();
    for (unsigned int i = 0; i < buckets && is_left; i++) {
        walk_bucket(table_of(table), &at, &last, function, argument);
        at = last + 1;
        is_left = at != 0;
    }
    rcu_read_unlock();

    *cursor = at;
    return is_left;
}

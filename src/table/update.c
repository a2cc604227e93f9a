/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Updates of a table, each under one stripe.
 */
#include <errno.h>

#include "table/table.h"

static void check_section(const char *call)
{
    if (CHECK_DEBUG && !rcu_read_lock_held())
        rtrcu_check_held(call, "inside a section", __FILE__, __LINE__);
}

/* The bucket of @mixed that is not MOVED, and its generation. */
static struct rtrcu_hash_line *bucket_of(const struct table *table, uint64_t mixed, struct generation **generation)
{
    *generation = table_current(table);
    struct rtrcu_hash_line *line = &(*generation)->shown.lines[mixed & (*generation)->shown.mask];
    while (rtrcu_load_acquire(&line->head) & RTRCU_HASH_MOVED) { /* bounded by the number of generations */
        *generation = table_generation(rtrcu_load_acquire(&(*generation)->shown.next));
        line = &(*generation)->shown.lines[mixed & (*generation)->shown.mask];
    }
    return line;
}

/* The bucket of @mixed that an insert fills.  If the resizer does not keep up, the insert first moves this bucket,
 * unless that needs memory. */
static struct rtrcu_hash_line *bucket_to_fill(const struct table *table, const struct table_stripe *stripe,
                                              uint64_t mixed, struct generation **generation)
{
    struct rtrcu_hash_line *bucket = bucket_of(table, mixed, generation);
    struct rtrcu_hash_generation *next = rtrcu_load_acquire(&(*generation)->shown.next);
    if (!next || stripe->entries < 2 * (*generation)->ask_above)
        return bucket;

    (void)table_bucket_move(*generation, table_generation(next), mixed & (*generation)->shown.mask, false);
    return bucket_of(table, mixed, generation);
}

/* Lock the stripe of @mixed, and prefetch the bucket meanwhile. */
static struct table_stripe *lock_stripe(const struct table *table, uint64_t mixed)
{
    const struct generation *generation = table_current(table);
    __builtin_prefetch(&generation->shown.lines[mixed & generation->shown.mask], 1);
    struct table_stripe *stripe = table_stripe(table, mixed);
    lock_acquire(&stripe->lock);
    return stripe;
}

/* Must the update request a larger table?  Each request needs an eighth more entries than the request before, so that a
 * stripe that stays full does not request each time.  A stripe with less than half of the upper bound starts again at
 * that bound; for requests to shrink, a stripe with more than twice the lower bound does so. */
static bool must_request_growth(struct table_stripe *stripe, const struct generation *generation)
{
    if (stripe->entries > 2 * generation->ask_below)
        stripe->ask_low = INT64_MAX;
    if (stripe->entries <= generation->ask_above || stripe->entries < stripe->ask_at)
        return false;
    stripe->ask_at = stripe->entries + stripe->entries / 8 + 1;
    return true;
}

static bool must_request_shrink(struct table_stripe *stripe, const struct generation *generation)
{
    if (stripe->entries < generation->ask_above / 2)
        stripe->ask_at = 0;
    if (stripe->entries > generation->ask_below || stripe->entries > stripe->ask_low)
        return false;
    stripe->ask_low = stripe->entries - stripe->entries / 8 - 1;
    return true;
}

/* Count a new entry, unless the table's limit is reached.  Only tables with a limit have this shared count, which makes
 * the limit exact. */
static bool is_full(struct table *table)
{
    if (!table->config.limit || rtrcu_fetch_add(&table->total, 1) < table->config.limit)
        return false;
    rtrcu_fetch_add(&table->total, (uint64_t)-1);
    return true;
}

/* Insert search->node into @bucket.  Under the stripe. */
static int insert_locked(struct table *table, struct table_stripe *stripe, struct rtrcu_hash_line *bucket,
                         struct table_search *search)
{
    table_find(bucket, search);
    if (search->found)
        return -EEXIST;
    if (table->config.longest && search->entries >= table->config.longest)
        return -E2BIG;
    if (is_full(table))
        return -ENOSPC;

    search->node->hash = search->mixed;
    table_put(bucket, search, search->node);
    rtrcu_store_relaxed(&stripe->entries, stripe->entries + 1);
    if (search->entries >= stripe->longest)
        rtrcu_store_relaxed(&stripe->longest, search->entries + 1);
    return 0;
}

static int insert(struct table *table, struct table_search *search)
{
    CALL_SCOPE();
    struct table_stripe *stripe = lock_stripe(table, search->mixed);
    struct generation *generation;
    struct rtrcu_hash_line *bucket = bucket_to_fill(table, stripe, search->mixed, &generation);
    int result = insert_locked(table, stripe, bucket, search);
    bool request = result == 0 && must_request_growth(stripe, generation);
    lock_release(&stripe->lock);

    if (request)
        table_request(table);
    return result;
}

int rtrcu_hash_insert(struct rtrcu_hash *table, uint64_t hash, struct rtrcu_hash_node *node, rtrcu_hash_match_t match,
                      const void *key, struct rtrcu_hash_node **existing)
{
    check_section("rtrcu_hash_insert");
    struct table_search search = {.node = node, .mixed = rtrcu_hash_mix(hash), .match = match, .key = key};
    int result = insert(table_of(table), &search);
    if (result == -EEXIST && existing)
        *existing = search.found;
    return result;
}

int rtrcu_hash_add(struct rtrcu_hash *table, uint64_t hash, struct rtrcu_hash_node *node)
{
    check_section("rtrcu_hash_add");
    struct table_search search = {.node = node, .mixed = rtrcu_hash_mix(hash)};
    return insert(table_of(table), &search);
}

int rtrcu_hash_replace(struct rtrcu_hash *shown, struct rtrcu_hash_node *old, struct rtrcu_hash_node *fresh)
{
    check_section("rtrcu_hash_replace");
    CALL_SCOPE();
    const struct table *table = table_of(shown);
    struct table_search search = {.node = old, .mixed = old->hash};
    struct generation *generation;

    struct table_stripe *stripe = lock_stripe(table, search.mixed);
    table_find(bucket_of(table, search.mixed, &generation), &search);
    if (search.found) {
        fresh->hash = search.mixed;
        table_exchange(&search, fresh);
    }
    lock_release(&stripe->lock);
    return search.found ? 0 : -ENOENT;
}

int rtrcu_hash_remove(struct rtrcu_hash *shown, struct rtrcu_hash_node *node)
{
    check_section("rtrcu_hash_remove");
    CALL_SCOPE();
    struct table *table = table_of(shown);
    struct table_search search = {.node = node, .mixed = node->hash};
    struct generation *generation;
    bool request = false;

    struct table_stripe *stripe = lock_stripe(table, search.mixed);
    table_find(bucket_of(table, search.mixed, &generation), &search);
    if (search.found) {
        table_exchange(&search, NULL);
        rtrcu_store_relaxed(&stripe->entries, stripe->entries - 1);
        request = must_request_shrink(stripe, generation);
        if (table->config.limit)
            rtrcu_fetch_add(&table->total, (uint64_t)-1);
    }
    lock_release(&stripe->lock);

    if (request)
        table_request(table);
    return search.found ? 0 : -ENOENT;
}

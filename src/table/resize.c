/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Resizes: the decision that a table needs a new generation, and the bounded steps that fill it.
 *
 * The next resize begins without waiting for a gp: links stay valid in the generation in which they were written.
 */
#include "table/table.h"

static uint64_t buckets_of(const struct table *table)
{
    return table_current(table)->shown.mask + 1;
}

static int64_t count_entries(const struct table *table)
{
    int64_t entries = 0;
    for (uint64_t i = 0; i <= table->stripe_mask; i++)
        entries += rtrcu_load_relaxed(&table->stripes[i].entries);
    return entries;
}

/* The number of buckets for @entries.  A table grows until the entries are at most three quarters of its bound, and
 * shrinks while they are below a quarter of its bound. */
static uint64_t wanted_buckets(const struct table *table, int64_t entries)
{
    uint64_t now = buckets_of(table), wanted = now;
    if (entries > table_bound(now))
        while (entries > table_bound(wanted) * 3 / 4 && wanted < TABLE_BUCKETS_MAX)
            wanted *= 2;
    while (wanted > table->config.buckets && entries < table_bound(wanted) / 4)
        wanted /= 2;
    return wanted;
}

/* Begin a resize to @buckets.  False: no memory. */
static bool begin(struct table *table, uint64_t buckets)
{
    table->to = generation_create(table, buckets);
    if (!table->to)
        rtrcu_count_add(&table->no_memory, 1);
    return table->to != NULL;
}

/* [O31] Resizer's half; the update's half is table_request().
 *  - The update's request first:  the resizer's sum includes the counts of the update that stored the request.
 *  - The resizer's exchange first:  the update stores the request after that, and the next step finds the request.
 * Forbidden: no request is left AND the sum misses the count of an update that stored one. */
static int64_t count_and_begin(struct table *table, int64_t now)
{
    table->due_ns = now + (int64_t)(table->stripe_mask + 1) * TABLE_COUNT_NS;
    (void)rtrcu_exchange(&table->asked, 0);
    uint64_t wanted = wanted_buckets(table, count_entries(table));
    if (wanted == buckets_of(table))
        return PLAT_FOREVER;

    bool shrinks = wanted < buckets_of(table);
    bool too_early = shrinks && table->shrink_cookie && !gp_reached(api_gp(), GP_NORMAL, table->shrink_cookie);
    if (!too_early && begin(table, wanted))
        return 0;

    rtrcu_store_relaxed(&table->asked, TABLE_ASKED_AND_WOKEN);
    table->due_ns = now + (too_early ? TABLE_POLL_NS : TABLE_RETRY_NS);
    return table->due_ns - now;
}

static int64_t count_if_due(struct table *table)
{
    if (!rtrcu_load_acquire(&table->asked))
        return PLAT_FOREVER;
    int64_t now = plat_clock_now();
    return now < table->due_ns ? table->due_ns - now : count_and_begin(table, now);
}

/* End a resize: all buckets are MOVED.  @from is retired once no look-up can begin in it. */
static void finish(struct table *table, struct generation *from)
{
    struct generation *to = table->to;
    bool shrinks = to->shown.mask < from->shown.mask;
    struct rtrcu_hash_generation *shown = &to->shown;
    to->done = 0;
    rtrcu_store_release(&table->shown.current, shown);
    table->to = NULL;
    generation_retire(from, NULL);

    if (shrinks)
        table->shrink_cookie = from->cookie;
    rtrcu_count_add(&table->resizes, 1);
    rtrcu_store_relaxed(&table->asked, TABLE_ASKED_AND_WOKEN);
    table->due_ns = 0;
}

static uint64_t move_one(struct table *table, struct generation *from)
{
    struct lock *lock = &table_stripe(table, from->done)->lock;
    lock_acquire(lock);
    int64_t began = plat_clock_now();
    uint64_t missing = table_bucket_move(from, table->to, from->done, true);
    uint64_t took = (uint64_t)(plat_clock_now() - began);
    lock_release(lock);

    if (took > table->longest_move_ns)
        rtrcu_store_relaxed(&table->longest_move_ns, took);
    return missing;
}

/* Move the next buckets.  If there is no memory for the overflow lines that a bucket needs, the bucket is not moved,
 * and the resize is tried again later. */
static int64_t move_some(struct table *table, struct generation *from)
{
    for (unsigned int i = 0; i < TABLE_STEP_BUCKETS && from->done <= from->shown.mask; i++) {
        uint64_t missing = move_one(table, from);
        if (missing && !generation_supply(table->to, missing)) {
            rtrcu_count_add(&table->no_memory, 1);
            return TABLE_RETRY_NS;
        }
        from->done += missing == 0;
    }

    if (from->done > from->shown.mask)
        finish(table, from);
    return 0;
}

int64_t table_step(struct table *table)
{
    struct generation *from = table_current(table);
    if (table->torn)
        return PLAT_FOREVER;
    if (!table->to)
        return count_if_due(table);

    if (rtrcu_load_relaxed(&from->shown.next))
        return move_some(table, from);
    if (generation_touch(table->to)) {
        struct rtrcu_hash_generation *shown = &table->to->shown;
        table->to->done = 0;
        rtrcu_store_release(&from->shown.next, shown);
    }
    return 0;
}

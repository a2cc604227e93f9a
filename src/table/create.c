/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Creation and destruction of tables, and their counters.
 */
#include <errno.h>
#include <stdlib.h>

#include "table/table.h"

static uint64_t power_of_two(uint64_t number)
{
    uint64_t power = 1;
    while (power < number)
        power *= 2;
    return power;
}

static void free_table(struct table *table)
{
    if (table)
        free(table->stripes);
    free(table);
}

static bool init_stripes(struct table *table)
{
    uint64_t stripes = table->stripe_mask + 1;
    table->stripes = aligned_alloc(BASE_CACHE_LINE, stripes * sizeof(struct table_stripe));
    for (uint64_t i = 0; table->stripes && i < stripes; i++) {
        table->stripes[i] = (struct table_stripe){.ask_low = INT64_MAX};
        lock_init(&table->stripes[i].lock, LOCK_RANK_STRIPE);
    }
    return table->stripes != NULL;
}

/* Allocate a table with its first generation.  NULL: no memory. */
static struct table *new_table(const struct rtrcu_hash_config *config)
{
    struct table *table = malloc(sizeof(*table));
    if (!table)
        return NULL;

    *table = (struct table){.config = *config};
    table->config.buckets = power_of_two(config->buckets ? config->buckets : TABLE_BUCKETS_DEFAULT);
    uint64_t stripes = table->config.buckets < TABLE_STRIPES_MAX ? table->config.buckets : TABLE_STRIPES_MAX;
    table->stripe_mask = stripes - 1;
    table->seed[0] = config->seed ? config->seed : plat_random();
    table->seed[1] = config->seed ? rtrcu_hash_mix(config->seed) : plat_random();

    struct generation *first = init_stripes(table) ? generation_create(table, table->config.buckets) : NULL;
    if (!first) {
        free_table(table);
        return NULL;
    }
    struct rtrcu_hash_generation *shown = &first->shown;
    rtrcu_store_relaxed(&table->shown.current, shown);
    return table;
}

static void list(struct table *table)
{
    resizer_lock();
    table->next = rtrcu_resizer.tables;
    rtrcu_resizer.tables = table;
    resizer_unlock();
}

static void unlist(struct table *table)
{
    struct table **at = &rtrcu_resizer.tables;
    while (*at && *at != table) /* bounded by the list */
        at = &(*at)->next;
    if (!*at)
        plat_die("rtrcu: thread %u: rtrcu_hash_destroy() of a table that does not exist\n", lock_thread_number());
    *at = table->next;
}

int rtrcu_hash_create(struct rtrcu_hash **shown, const struct rtrcu_hash_config *config)
{
    static const struct rtrcu_hash_config defaults = {0};
    const struct rtrcu_hash_config *chosen = config ? config : &defaults;
    CALL_SCOPE();
    api_init();

    if (chosen->buckets > TABLE_BUCKETS_MAX)
        return -EINVAL;
    int error = resizer_start();
    if (error)
        return error;
    struct table *table = new_table(chosen);
    if (!table)
        return -ENOMEM;

    list(table);
    *shown = &table->shown;
    return 0;
}

void rtrcu_hash_destroy(struct rtrcu_hash *shown)
{
    if (!shown)
        return;

    CALL_SCOPE();
    struct table *table = table_of(shown);
    resizer_lock();
    unlist(table);
    if (table->to)
        generation_retire(table->to, NULL);
    generation_retire(table_current(table), table);
    resizer_unlock();
    (void)resizer_notify();
}

void rtrcu_hash_stats(const struct rtrcu_hash *shown, struct rtrcu_hash_counters *stats)
{
    const struct table *table = table_of_const(shown);
    struct rtrcu_hash_counters now = {.resizes = rtrcu_load_relaxed(&table->resizes),
                                      .longest_move_ns = rtrcu_load_relaxed(&table->longest_move_ns),
                                      .no_memory = rtrcu_load_relaxed(&table->no_memory),
                                      .no_resizer = rtrcu_load_relaxed(&table->no_resizer)};

    for (uint64_t i = 0; i <= table->stripe_mask; i++) {
        uint64_t longest = rtrcu_load_relaxed(&table->stripes[i].longest);
        now.entries += (uint64_t)rtrcu_load_relaxed(&table->stripes[i].entries);
        now.longest_chain = longest > now.longest_chain ? longest : now.longest_chain;
    }

    rcu_read_lock();
    now.buckets = table_current(table)->shown.mask + 1;
    rcu_read_unlock();
    *stats = now;
}

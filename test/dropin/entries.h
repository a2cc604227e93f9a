/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A hash table of liburcu-cds whose entries are marked dead when they are reclaimed.  To be included after the header
 * of the readers' flavour. */
#ifndef TEST_DROPIN_ENTRIES_H
#define TEST_DROPIN_ENTRIES_H

#include <urcu/rculfhash.h>

#include "dropin.h"

/* liburcu-cds at times misses that a table should grow, and its chains become long. */
#define KEYS 4000

struct entry {
    struct cds_lfht_node node;
    struct rcu_head rcu;
    unsigned long key;
    int state;
};

static struct cds_lfht *table;
static int done; /* used by the readers */

static inline int matches(struct cds_lfht_node *node, const void *key)
{
    struct entry *entry = caa_container_of(node, struct entry, node);
    EXPECT(rtrcu_load_relaxed(&entry->state) == ALIVE);
    return entry->key == *(const unsigned long *)key;
}

static inline void reclaim(struct rcu_head *head)
{
    struct entry *entry = caa_container_of(head, struct entry, rcu);
    rtrcu_store_relaxed(&entry->state, DEAD);
    free(entry);
}

static inline void add_entry(unsigned long key)
{
    struct entry *entry = malloc(sizeof(*entry));
    EXPECT(entry);
    cds_lfht_node_init(&entry->node);
    entry->key = key;
    entry->state = ALIVE;
    rcu_read_lock();
    cds_lfht_add(table, key * 2654435761u, &entry->node);
    rcu_read_unlock();
}

/* To be called inside a section. */
static inline struct cds_lfht_node *find(unsigned long key)
{
    struct cds_lfht_iter iterator;
    cds_lfht_lookup(table, key * 2654435761u, matches, &key, &iterator);
    return cds_lfht_iter_get_node(&iterator);
}

static inline void take_entry_out(unsigned long key)
{
    rcu_read_lock();
    struct cds_lfht_node *node = find(key);
    EXPECT(node && cds_lfht_del(table, node) == 0);
    call_rcu(&caa_container_of(node, struct entry, node)->rcu, reclaim);
    rcu_read_unlock();
}

#endif

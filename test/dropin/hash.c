/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The installed liburcu-cds' hash table over our flavour, resizing by itself while it is read.
 */
#include <pthread.h>
#include <stddef.h>
#include <time.h>

#include HEADER
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
static int done;

static int matches(struct cds_lfht_node *node, const void *key)
{
    struct entry *entry = caa_container_of(node, struct entry, node);
    EXPECT(entry->state == ALIVE);
    return entry->key == *(const unsigned long *)key;
}

static void reclaim(struct rcu_head *head)
{
    struct entry *entry = caa_container_of(head, struct entry, rcu);
    entry->state = DEAD;
    free(entry);
}

static void add(unsigned long key)
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

static bool take_out(unsigned long key)
{
    struct cds_lfht_iter iterator;
    rcu_read_lock();
    cds_lfht_lookup(table, key * 2654435761u, matches, &key, &iterator);
    struct cds_lfht_node *node = cds_lfht_iter_get_node(&iterator);
    bool gone = node && cds_lfht_del(table, node) == 0;
    if (gone)
        call_rcu(&caa_container_of(node, struct entry, node)->rcu, reclaim);
    rcu_read_unlock();
    called.quiescent();
    return gone;
}

static void *reader(void *unused)
{
    (void)unused;
    rcu_register_thread();
    for (unsigned long key = 0; !rtrcu_load_relaxed(&done); key = (key + 1) % KEYS) {
        struct cds_lfht_iter iterator;
        rcu_read_lock();
        cds_lfht_lookup(table, key * 2654435761u, matches, &key, &iterator);
        rcu_read_unlock();
        called.quiescent();
    }
    rcu_unregister_thread();
    return NULL;
}

int main(void)
{
    pthread_t thread;
    expect_ours();
    rcu_register_thread();
    table = cds_lfht_new(1, 1, 0, CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING, NULL);
    EXPECT(table);
    EXPECT(pthread_create(&thread, NULL, reader, NULL) == 0);
    for (int round = 0; round < 15; round++) {
        for (unsigned long key = 0; key < KEYS; key++) {
            add(key);
            called.quiescent();
        }
        for (unsigned long key = 0; key < KEYS; key++)
            EXPECT(take_out(key));
    }
    rtrcu_store_relaxed(&done, 1);
#if QUIESCES
    rcu_thread_offline(); /* to the end: destroying waits for resizes, which wait for grace periods */
#endif
    pthread_join(thread, NULL);
    rcu_barrier();
    EXPECT(cds_lfht_destroy(table, NULL) == 0);
    rcu_unregister_thread();
    return 0;
}

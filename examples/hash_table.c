/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A read-mostly hash table: look-ups take no lock and never wait, changes take one lock and free old entries in bulk.
 *
 * The sessions of a server: many threads look keys up, one thread adds, renews and drops sessions.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <rtrcu/list.h>
#include <rtrcu/rcu.h>

#define BUCKETS 1024 /* a power of two */
#define KEYS 4096
#define END KEYS /* key of the session that tells the readers to stop */
#define READERS 2
#define CHANGES 200000

struct session {
    unsigned long key;
    unsigned long renewed; /* how often the session was renewed; never falls */
    unsigned long check;   /* ~key: what readers verify */
    struct hlist_node node;
};

static struct hlist_head bucket[BUCKETS]; /* zero is empty */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

/* A reader thread, and the counts that it reports when it ends. */
struct tally {
    pthread_t thread;
    unsigned long lookups, mistakes, last[KEYS];
};

static struct hlist_head *bucket_of(unsigned long key)
{
    return &bucket[(key * 0x9e3779b97f4a7c15ul >> 32) % BUCKETS];
}

/* Find the session of a key; called in a section or with table_lock held. */
static struct session *find(unsigned long key)
{
    struct session *entry;
    hlist_for_each_entry_rcu(entry, bucket_of(key), node, true) if (entry->key == key) return entry;
    return NULL;
}

static struct session *make(unsigned long key, unsigned long renewed)
{
    struct session *fresh = malloc(sizeof(*fresh));
    if (!fresh)
        exit(1);
    *fresh = (struct session){.key = key, .renewed = renewed, .check = ~key};
    return fresh;
}

/* Add the session, or replace it by a renewed copy: readers see the old or the new one, and always one of them. */
static void renew(unsigned long key)
{
    pthread_mutex_lock(&table_lock);
    struct session *old = find(key);
    struct session *fresh = make(key, old ? old->renewed + 1 : 0);
    if (old)
        hlist_replace_rcu(&old->node, &fresh->node);
    else
        hlist_add_head_rcu(&fresh->node, bucket_of(key));
    pthread_mutex_unlock(&table_lock);
    rcu_free(old); /* plain memory: no callback needed; NULL does nothing */
}

static void drop(unsigned long key)
{
    pthread_mutex_lock(&table_lock);
    struct session *old = find(key);
    if (old)
        hlist_del_rcu(&old->node);
    pthread_mutex_unlock(&table_lock);
    rcu_free(old);
}

/* Even keys are renewed and never removed, so a reader must find them every time, and never an older copy than
 * before. */
static bool look_up(unsigned long key, unsigned long *last)
{
    rcu_read_lock();
    const struct session *entry = find(key);
    bool right = entry ? entry->check == ~key && (key % 2 || entry->renewed >= *last) : key % 2;
    if (entry)
        *last = entry->renewed;
    rcu_read_unlock();
    return right;
}

static bool is_over(void)
{
    rcu_read_lock();
    bool over = find(END) != NULL;
    rcu_read_unlock();
    return over;
}

static void *reader(void *argument)
{
    struct tally *tally = argument;
    unsigned long key = 0;
    while (!is_over()) {
        for (int i = 0; i < 100; i++, tally->lookups++) {
            key = (key * 1103515245 + 12345) % KEYS;
            tally->mistakes += !look_up(key, &tally->last[key]);
        }
    }
    return NULL;
}

/* Make CHANGES changes to random keys: renew a session with an even key; renew or drop one with an odd key. */
static void change_sessions(void)
{
    unsigned long seed = 1;
    for (int i = 0; i < CHANGES; i++) {
        seed = seed * 6364136223846793005ul + 1442695040888963407ul;
        unsigned long key = (seed >> 33) % KEYS;
        if (key % 2 && seed >> 63)
            drop(key);
        else
            renew(key);
    }
}

int main(void)
{
    struct tally *tally = calloc(READERS, sizeof(*tally));
    unsigned long lookups = 0, mistakes = 0, left = 0;
    if (!tally)
        return 1;
    for (unsigned long key = 0; key < KEYS; key++)
        renew(key);
    for (int i = 0; i < READERS; i++)
        pthread_create(&tally[i].thread, NULL, reader, &tally[i]);
    change_sessions();
    renew(END);
    for (int i = 0; i < READERS; i++) {
        pthread_join(tally[i].thread, NULL);
        lookups += tally[i].lookups;
        mistakes += tally[i].mistakes;
    }
    rcu_barrier();
    struct rtrcu_stats stats = {.size = sizeof(stats)};
    rtrcu_stats(&stats);
    for (unsigned long key = 0; key < KEYS; key++)
        left += find(key) != NULL;
    printf("%d changes under %lu look-ups: %lu mistakes; %lu sessions left, %llu freed, %llu grace periods\n", CHANGES,
           lookups, mistakes, left, (unsigned long long)stats.callbacks_invoked,
           (unsigned long long)stats.gp_completed);
    free(tally);
    return mistakes == 0 && stats.callbacks_backlog == 0 && left >= KEYS / 2 ? 0 : 1;
}

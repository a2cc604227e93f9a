// SPDX-License-Identifier: MIT OR Apache-2.0
// One hash table of the comparison, ours or that of liburcu-cds (BENCH_CDS): prints nanoseconds of CPU time a call.
//
// usage: bench_table_SIDE ENTRIES [presized]
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#ifdef BENCH_CDS
#define _LGPL_SOURCE
#include <urcu/urcu-memb.h>

#include <urcu/rculfhash.h>
typedef struct cds_lfht_node node_t;
static struct cds_lfht *table;
#define LOCK() urcu_memb_read_lock()
#define UNLOCK() urcu_memb_read_unlock()
#else
#include <rtrcu/table.h>
typedef struct rtrcu_hash_node node_t;
static struct rtrcu_hash *table;
#define LOCK() rcu_read_lock()
#define UNLOCK() rcu_read_unlock()
#endif

struct entry {
    node_t node;
    uint64_t key;
};

static struct entry *entries;
static uint64_t count;

static uint64_t key_of(const node_t *node)
{
    return ((const struct entry *)(const void *)node)->key;
}

static double cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static uint64_t hash_of(uint64_t key)
{
    key = (key ^ key >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    key = (key ^ key >> 27) * UINT64_C(0x94d049bb133111eb);
    return key ^ key >> 31;
}

#ifdef BENCH_CDS
static int match(node_t *node, const void *key)
{
    return key_of(node) == *(const uint64_t *)key;
}

static void create(uint64_t presized)
{
    unsigned long size = 64;
    while (size < presized)
        size *= 2;
    urcu_memb_register_thread();
    int flags = presized ? 0 : CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING;
    table = cds_lfht_new_flavor(size, 64, 0, flags, &urcu_memb_flavor, NULL);
}

static bool insert(uint64_t key)
{
    return cds_lfht_add_unique(table, hash_of(key), match, &key, &entries[key].node) == &entries[key].node;
}

static bool has(uint64_t key)
{
    struct cds_lfht_iter iter;
    cds_lfht_lookup(table, hash_of(key), match, &key, &iter);
    return cds_lfht_iter_get_node(&iter) != NULL;
}

static bool take_out(uint64_t key)
{
    return cds_lfht_del(table, &entries[key].node) == 0;
}

static void wait_for_readers(void)
{
    urcu_memb_synchronize_rcu();
}
#else
static bool match(const node_t *node, const void *key)
{
    return key_of(node) == *(const uint64_t *)key;
}

static void create(uint64_t presized)
{
    const struct rtrcu_hash_config config = {.buckets = presized / 4};
    if (rtrcu_hash_create(&table, &config) != 0)
        abort();
}

static bool insert(uint64_t key)
{
    return rtrcu_hash_insert(table, hash_of(key), &entries[key].node, match, &key, NULL) == 0;
}

static bool has(uint64_t key)
{
    return rtrcu_hash_lookup(table, hash_of(key), match, &key) != NULL;
}

static bool take_out(uint64_t key)
{
    return rtrcu_hash_remove(table, &entries[key].node) == 0;
}

static void wait_for_readers(void)
{
    synchronize_rcu();
}
#endif

static void must(bool right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "bench_table: wrong result of %s\n", what);
    exit(1);
}

static void fill(void)
{
    double began = cpu_ns();
    for (uint64_t key = 0; key < count; key++) {
        entries[key].key = key;
        LOCK();
        must(insert(key), "insert");
        UNLOCK();
    }
    printf("grow %.1f\n", (cpu_ns() - began) / (double)count);
}

static void look_up(const char *name, uint64_t first, bool expected)
{
    const uint64_t calls = 4000000;
    uint64_t random = 1, right = 0;
    double began = cpu_ns();
    for (uint64_t i = 0; i < calls; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        LOCK();
        right += has(first + (random >> 33) % count) == expected;
        UNLOCK();
    }
    must(right == calls, name);
    printf("%s %.1f\n", name, (cpu_ns() - began) / (double)calls);
}

/* Removes an eighth of the entries, scattered, and inserts them again. */
static void update(void)
{
    const uint64_t rounds = count < 100000 ? 200 : 1, part = count / 8;
    double out = 0, in = 0;
    for (uint64_t round = 0; round < rounds; round++) {
        double began = cpu_ns();
        for (uint64_t i = 0; i < part; i++) {
            LOCK();
            must(take_out(i * 7 % count), "remove");
            UNLOCK();
        }
        out += cpu_ns() - began;
        wait_for_readers();

        began = cpu_ns();
        for (uint64_t i = 0; i < part; i++) {
            LOCK();
            must(insert(i * 7 % count), "insert");
            UNLOCK();
        }
        in += cpu_ns() - began;
    }
    printf("remove %.1f\ninsert %.1f\n", out / (double)(rounds * part), in / (double)(rounds * part));
}

int main(int argc, char **argv)
{
    count = argc > 1 ? strtoull(argv[1], NULL, 0) : 0;
    entries = calloc(count, sizeof(*entries));
    if (count < 8 || count % 7 == 0 || !entries) {
        fprintf(stderr, "usage: %s ENTRIES [presized]; ENTRIES at least 8, no multiple of 7\n", argv[0]);
        return 2;
    }

    create(argc > 2 ? count : 0);
    fill();
    usleep(500000); /* until the last resize has ended */
    look_up("hit", 0, true);
    look_up("miss", count, false);
    update();
    fflush(stdout);
    _exit(0);
}

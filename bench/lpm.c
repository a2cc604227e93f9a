// SPDX-License-Identifier: MIT OR Apache-2.0
// Longest prefix match and DPDK's rte_lpm, alternately in one process: medians of CPU time a look-up.
//
// usage: bench_lpm [ROUNDS [GEOIP_FILE [GEOIP6_FILE]]]; without a file a smaller set is generated; with the second one
// IPv6 prefixes too, in our table alone
//
// Both look up one address at a time; ours uses a section for each burst of 32, as a forwarder does.
#include <arpa/inet.h>
#include <errno.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lpm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rtrcu/lpm.h>

#define ROUNDS_MAX 99
#define ADDRESSES (1u << 20)
#define HOPS_MAX 65536
#define GENERATED 200000

struct prefix {
    uint32_t address, length, hop;
};

static struct prefix *prefixes;
static size_t prefix_count, prefix_room;
static uint64_t hops[HOPS_MAX]; /* a value is the address of its element */
static struct rtrcu_lpm *ours;
static struct rte_lpm *theirs;
static size_t their_bytes;
static uint64_t random_state = 1;

static void die(const char *what, int error)
{
    fprintf(stderr, "bench_lpm: %s: %d\n", what, error);
    exit(1);
}

static uint32_t random_word(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 32);
}

static double cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* ---- prefixes ---------------------------------------------------------------------------------------------------- */

static void add_prefix(uint32_t address, uint32_t length, uint32_t hop)
{
    if (prefix_count == prefix_room) {
        prefix_room = prefix_room ? 2 * prefix_room : 1024;
        prefixes = realloc(prefixes, prefix_room * sizeof(*prefixes));
        if (!prefixes)
            die("no memory", ENOMEM);
    }
    prefixes[prefix_count++] = (struct prefix){address, length, hop};
}

/* Adds the largest prefixes that cover the range exactly. */
static void add_range(uint64_t first, uint64_t last, uint32_t hop)
{
    while (first <= last) {
        uint32_t bits = first ? (uint32_t)__builtin_ctzll(first) : 32;
        while (UINT64_C(1) << bits > last + 1 - first)
            bits--;
        add_prefix((uint32_t)first, 32 - bits, hop);
        first += UINT64_C(1) << bits;
    }
}

static void read_prefixes(const char *name)
{
    FILE *file = fopen(name, "r");
    char line[128], country[3];
    unsigned long first, last;
    if (!file)
        die(name, errno);
    while (fgets(line, sizeof(line), file))
        if (sscanf(line, "%lu,%lu,%2s", &first, &last, country) == 3)
            add_range(first, last, (uint32_t)(uint8_t)country[0] << 8 | (uint8_t)country[1]);
    fclose(file);
}

/* Generates prefixes: lengths from 12 to 24, most of them long; 250 hops. */
static void generate_prefixes(void)
{
    for (int i = 0; i < GENERATED; i++) {
        uint32_t length = 24 - (uint32_t)__builtin_ctz(random_word() | 1u << 12);
        add_prefix(random_word() & ~UINT32_C(0) << (32 - length), length, random_word() % 250);
    }
}

/* ---- the two tables ---------------------------------------------------------------------------------------------- */

static void fill_ours(void)
{
    if (rtrcu_lpm_create(&ours, 32) != 0)
        die("rtrcu_lpm_create", ENOMEM);
    double began = cpu_ns();
    for (size_t i = 0; i < prefix_count; i++) {
        uint32_t key = __builtin_bswap32(prefixes[i].address);
        int error = rtrcu_lpm_insert(ours, &key, prefixes[i].length, &hops[prefixes[i].hop]);
        if (error == -EEXIST)
            error = rtrcu_lpm_replace(ours, &key, prefixes[i].length, &hops[prefixes[i].hop], NULL);
        if (error)
            die("rtrcu_lpm_insert", error);
    }
    printf("%zu prefixes: ours %.0f ns an insert", prefix_count, (cpu_ns() - began) / (double)prefix_count);
}

/* DPDK's table is created for a fixed number of groups of 256 entries: one for each /24 with longer prefixes. */
static void fill_theirs(void)
{
    uint8_t *has_group = calloc(1 << 24, 1);
    struct rte_lpm_config config = {.max_rules = (uint32_t)prefix_count + 1, .number_tbl8s = 0};
    if (!has_group)
        die("no memory", ENOMEM);
    for (size_t i = 0; i < prefix_count; i++)
        if (prefixes[i].length > 24 && !has_group[prefixes[i].address >> 8]++)
            config.number_tbl8s++;
    free(has_group);
    config.number_tbl8s += 16;
    theirs = rte_lpm_create("bench", SOCKET_ID_ANY, &config);
    if (!theirs)
        die("rte_lpm_create", rte_errno);
    their_bytes = sizeof(uint32_t) * ((1u << 24) + 256ul * config.number_tbl8s);

    double began = cpu_ns();
    for (size_t i = 0; i < prefix_count;
         i++) { /* DPDK's rules of one length are an array, which each insert searches */
        int error = rte_lpm_add(theirs, prefixes[i].address, (uint8_t)prefixes[i].length, prefixes[i].hop);
        if (error)
            die("rte_lpm_add", error);
    }
    printf(", theirs %.0f\n", (cpu_ns() - began) / (double)prefix_count);
}

/* ---- look-ups ---------------------------------------------------------------------------------------------------- */

static uint64_t __attribute__((noinline)) look_up_ours(const uint32_t *addresses)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < ADDRESSES; i += 32) {
        rcu_read_lock();
        for (uint32_t j = i; j < i + 32; j++) {
            const uint64_t *hop = rtrcu_lpm_lookup_ipv4(ours, addresses[j]);
            sum += hop ? (uint64_t)(hop - hops) + 1 : 0;
        }
        rcu_read_unlock();
    }
    return sum;
}

static uint64_t __attribute__((noinline)) look_up_theirs(const uint32_t *addresses)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < ADDRESSES; i++) {
        uint32_t hop;
        sum += rte_lpm_lookup(theirs, addresses[i], &hop) == 0 ? (uint64_t)hop + 1 : 0;
    }
    return sum;
}

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof(*values), by_value);
    return values[count / 2];
}

/* Times the look-ups of all addresses in both tables. Exits if the sums of the two tables' answers differ. */
static void compare(const char *name, const uint32_t *addresses, int rounds, double bar)
{
    double times[3][ROUNDS_MAX];
    for (int round = 0; round < rounds; round++) {
        double began = cpu_ns();
        uint64_t our_sum = look_up_ours(addresses);
        double between = cpu_ns();
        uint64_t their_sum = look_up_theirs(addresses);
        times[0][round] = (between - began) / ADDRESSES;
        times[1][round] = (cpu_ns() - between) / ADDRESSES;
        times[2][round] = times[0][round] / times[1][round];
        if (our_sum != their_sum)
            die("rtrcu and rte_lpm return different sums of hops, in round", round);
    }
    double our_ns = median(times[0], rounds), their_ns = median(times[1], rounds), ratio = median(times[2], rounds);
    printf("%-16s ours %6.2f ns  rte_lpm %6.2f ns  ratio %.2f, %.2f to %.2f", name, our_ns, their_ns, ratio,
           times[2][0], times[2][rounds - 1]);
    printf(bar > 0 ? "  bar %.1f\n" : "\n", bar);
}

static void compare_look_ups(int rounds)
{
    uint32_t *addresses = malloc(ADDRESSES * sizeof(*addresses)), hot[1000];
    if (!addresses)
        die("no memory", ENOMEM);
    for (uint32_t i = 0; i < ADDRESSES; i++) {
        const struct prefix *prefix = &prefixes[random_word() % prefix_count];
        addresses[i] = prefix->address | (prefix->length ? random_word() >> (prefix->length - 1) >> 1 : random_word());
    }
    compare("under prefixes", addresses, rounds, 2.5);
    memcpy(hot, addresses, sizeof(hot));
    for (uint32_t i = 0; i < ADDRESSES; i++)
        addresses[i] = hot[random_word() % 1000];
    compare("1,000 hot ones", addresses, rounds, 0);
    for (uint32_t i = 0; i < ADDRESSES; i++)
        addresses[i] = random_word();
    compare("random addresses", addresses, rounds, 0.6);
    free(addresses);
}

/* ---- updates ----------------------------------------------------------------------------------------------------- */

/* Inserts and removes a new short prefix, several times; prints the time of the longest insert. */
static void time_short_prefix(uint32_t length)
{
    uint32_t key = __builtin_bswap32(UINT32_C(64) << 24);
    double longest = 0;
    for (int i = 0; i < 9; i++) {
        double began = cpu_ns();
        int error = rtrcu_lpm_insert(ours, &key, length, &hops[1]);
        double took = cpu_ns() - began;
        if (error == -EEXIST)
            return;
        longest = took > longest ? took : longest;
        if (rtrcu_lpm_remove(ours, &key, length, NULL) != 0)
            die("rtrcu_lpm_remove", ENOENT);
    }
    printf("a new /%-2u        %.1f us at most\n", length, longest / 1e3);
}

/* ---- IPv6 -------------------------------------------------------------------------------------------------------- */

typedef unsigned __int128 wide_t;

/* 16 bytes in network order. */
struct address6 {
    uint8_t bytes[16];
};

static struct address6 *nets;
static size_t net_count;

static wide_t wide_of(const struct address6 *address)
{
    wide_t wide = 0;
    for (int i = 0; i < 16; i++)
        wide = wide << 8 | address->bytes[i];
    return wide;
}

static struct address6 bytes_of(wide_t wide)
{
    struct address6 address;
    for (int i = 16; i-- > 0; wide >>= 8)
        address.bytes[i] = (uint8_t)wide;
    return address;
}

static void insert6(struct rtrcu_lpm *table, wide_t first, uint32_t bits, uint32_t hop)
{
    struct address6 key = bytes_of(first);
    if (rtrcu_lpm_insert(table, &key, 128 - bits, &hops[hop]) != 0)
        die("rtrcu_lpm_insert", (int)net_count);
    if ((net_count & (net_count - 1)) == 0 && !(nets = realloc(nets, (net_count ? 2 * net_count : 1) * sizeof(*nets))))
        die("no memory", ENOMEM);
    nets[net_count++] = key;
}

static void fill6(struct rtrcu_lpm *table, FILE *file)
{
    char line[160], from[64], to[64], country[3];
    struct address6 low, high;
    while (fgets(line, sizeof(line), file)) {
        if (sscanf(line, "%63[^,],%63[^,],%2s", from, to, country) != 3 || inet_pton(AF_INET6, from, &low) != 1 ||
            inet_pton(AF_INET6, to, &high) != 1)
            continue;
        wide_t first = wide_of(&low), last = wide_of(&high);
        while (first <= last) { /* the largest prefix that begins here; no range ends with the last address */
            uint32_t bits = 0;
            while (bits < 127 && !(first >> bits & 1) && ((wide_t)2 << bits) - 1 <= last - first)
                bits++;
            insert6(table, first, bits, (uint32_t)(uint8_t)country[0] << 8 | (uint8_t)country[1]);
            first += (wide_t)1 << bits;
        }
    }
}

static void measure6(const char *name, int rounds)
{
    struct rtrcu_lpm *table;
    struct rtrcu_lpm_counters counters;
    struct address6 *addresses = malloc(ADDRESSES * sizeof(*addresses));
    double times[ROUNDS_MAX], began = cpu_ns();
    FILE *file = fopen(name, "r");
    if (!file || !addresses || rtrcu_lpm_create(&table, 128) != 0)
        die(name, errno);
    fill6(table, file);
    printf("IPv6: %zu prefixes, %.0f ns an insert", net_count, (cpu_ns() - began) / (double)net_count);
    for (uint32_t i = 0; i < ADDRESSES; i++)
        addresses[i] = nets[random_word() % net_count];
    for (int round = 0; round < rounds; round++) {
        uint32_t found = 0;
        began = cpu_ns();
        for (uint32_t i = 0; i < ADDRESSES; i++) {
            rcu_read_lock();
            found += rtrcu_lpm_lookup(table, &addresses[i]) != NULL;
            rcu_read_unlock();
        }
        times[round] = (cpu_ns() - began) / ADDRESSES;
        if (found != ADDRESSES)
            die("addresses without a prefix", (int)(ADDRESSES - found));
    }
    rtrcu_lpm_stats(table, &counters);
    printf(", %.1f ns a look-up, %.1f MB, %lu nodes\n", median(times, rounds), (double)counters.bytes / 1e6,
           (unsigned long)counters.nodes);
    fclose(file);
}

int main(int argc, char **argv)
{
    char *eal[] = {argv[0], "--no-huge", "--no-pci", "--no-telemetry", "--no-shconf", "--log-level=3",
                   "-m",    "1024",      NULL};
    int rounds = argc > 1 ? atoi(argv[1]) : 9;
    if (rounds < 1 || rounds > ROUNDS_MAX || argc > 4) {
        fprintf(stderr, "usage: %s [ROUNDS, at most %d [GEOIP_FILE [GEOIP6_FILE]]]\n", argv[0], ROUNDS_MAX);
        return 2;
    }
    if (rte_eal_init(8, eal) < 0)
        die("rte_eal_init", rte_errno);

    if (argc > 2)
        read_prefixes(argv[2]);
    else
        generate_prefixes();
    fill_ours();
    fill_theirs();
    struct rtrcu_lpm_counters counters;
    rtrcu_lpm_stats(ours, &counters);
    printf("memory           ours %.1f MB, %lu nodes; rte_lpm %.1f MB  ratio %.3f  bar 0.15\n",
           (double)counters.bytes / 1e6, (unsigned long)counters.nodes, (double)their_bytes / 1e6,
           (double)counters.bytes / (double)their_bytes);

    compare_look_ups(rounds);
    for (uint32_t length = 0; length <= 24; length += 4)
        time_short_prefix(length);
    if (argc > 3)
        measure6(argv[3], rounds);
    return 0;
}

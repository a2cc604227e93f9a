/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A cache server with expiry and bounded memory, on a hash table that grows and shrinks while its threads use it.
 *
 * Requests are datagrams: "set KEY MILLISECONDS VALUE", "get KEY", "drop KEY".  Keys belong to the clients, so they are
 * hashed with the table's secret seed.  Two threads serve; both sweep a few buckets from time to time. When the table
 * is full, both evict entries that no request has used since the last sweep.  Entries that wait for a grace period
 * count as memory too.  Three clients on loopback check it: one floods the cache, two compare every answer with what
 * they stored.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <rtrcu/list.h>
#include <rtrcu/table.h>

#define ENTRIES 2048            /* the largest number of entries in the table */
#define BYTES ((size_t)1 << 20) /* the largest memory of entries, including removed ones */
#define WORKERS 2
#define CLIENTS 2
#define KEYS 64 /* of each client that checks answers */
#define FLOOD 8000
#define KEY_MAX 32
#define VALUE_MAX 64
#define TEXT_MAX 160

/* ---- the cache --------------------------------------------------------------------------------------------------- */

struct entry {
    struct rtrcu_hash_node node;
    struct rcu_head rcu;
    uint64_t expires_ns;
    bool used; /* atomic: a request has used the entry since the last sweep */
    char key[KEY_MAX], value[VALUE_MAX];
};

/* One sweep: the time by which it judges expiry, whether it evicts, and the number of entries that it removed. */
struct sweep {
    uint64_t now;
    bool evict;
    unsigned int removed;
};

static struct rtrcu_hash *cache;
static size_t held, most_held;                  /* atomic: bytes of entries that are allocated */
static unsigned long evicted, refused, expired; /* atomic */
static _Thread_local uint64_t hand;             /* where this thread's next sweep begins */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct entry *entry_of(struct rtrcu_hash_node *node)
{
    return list_entry(node, struct entry, node);
}

static bool has_key(const struct rtrcu_hash_node *node, const void *key)
{
    return strcmp(list_entry(node, const struct entry, node)->key, key) == 0;
}

static uint64_t hash_of(const char *key)
{
    return rtrcu_hash_bytes(cache, key, strlen(key));
}

static void entry_free(struct entry *entry)
{
    rtrcu_fetch_add(&held, -sizeof(*entry));
    free(entry);
}

static void entry_reclaim(struct rcu_head *head)
{
    entry_free(list_entry(head, struct entry, rcu));
}

/* Remove an entry, in a section. Of several threads that remove an entry exactly one frees it. */
static bool entry_remove(struct entry *entry)
{
    if (rtrcu_hash_remove(cache, &entry->node) != 0)
        return false;
    call_rcu(&entry->rcu, entry_reclaim);
    return true;
}

static void visit(struct rtrcu_hash_node *node, void *argument)
{
    struct sweep *sweep = argument;
    struct entry *entry = entry_of(node);
    if (sweep->now >= entry->expires_ns) {
        bool removed = entry_remove(entry);
        sweep->removed += removed;
        rtrcu_fetch_add(&expired, (unsigned long)removed);
    } else if (sweep->evict && !rtrcu_exchange(&entry->used, false)) {
        bool removed = entry_remove(entry);
        sweep->removed += removed;
        rtrcu_fetch_add(&evicted, (unsigned long)removed);
    }
}

/* Sweep a few buckets, beginning where the thread's last sweep ended: each section is short, for every size of the
 * table. */
static void sweep_some(struct sweep *sweep, unsigned int buckets)
{
    rtrcu_hash_walk(cache, &hand, buckets, visit, sweep);
}

/* Sweep until an entry is removed, or 2 * ENTRIES buckets have been visited: a first visit clears the mark @used of an
 * entry, and a second visit evicts the entry if no request has used it meanwhile. */
static void make_room(void)
{
    struct sweep sweep = {.now = now_ns(), .evict = true};
    for (int step = 0; step < 2 * ENTRIES / 4 && !sweep.removed; step++)
        sweep_some(&sweep, 4);
}

/* Allocate an entry; NULL: no memory, or BYTES would be exceeded. */
static struct entry *entry_make(const char *key, unsigned int lifetime_ms, const char *value)
{
    size_t bytes = rtrcu_fetch_add(&held, sizeof(struct entry)) + sizeof(struct entry);
    struct entry *entry = bytes <= BYTES ? malloc(sizeof(*entry)) : NULL;
    if (!entry) {
        rtrcu_fetch_add(&held, -sizeof(*entry));
        return NULL;
    }

    size_t most = rtrcu_load_relaxed(&most_held);
    while (bytes > most && !rtrcu_compare_exchange(&most_held, &most, bytes)) /* ends, since the maximum only rises */
        ;
    *entry = (struct entry){.expires_ns = now_ns() + (uint64_t)lifetime_ms * 1000000};
    strcpy(entry->key, key);
    strcpy(entry->value, value);
    return entry;
}

/* Insert @fresh, or replace the entry that has its key. */
static int entry_store(struct entry *fresh)
{
    struct rtrcu_hash_node *old;
    rcu_read_lock();
    int error = rtrcu_hash_insert(cache, hash_of(fresh->key), &fresh->node, has_key, fresh->key, &old);
    if (error == -EEXIST) {
        error = rtrcu_hash_replace(cache, old, &fresh->node);
        if (error == 0)
            call_rcu(&entry_of(old)->rcu, entry_reclaim);
    }
    rcu_read_unlock();
    return error;
}

static const char *cache_set(const char *key, unsigned int lifetime_ms, const char *value)
{
    struct entry *fresh = entry_make(key, lifetime_ms, value);
    for (int attempt = 0; fresh && attempt < 8; attempt++) {
        int error = entry_store(fresh);
        if (error == 0)
            return "stored";
        if (error == -ENOSPC)
            make_room();
    }

    if (fresh)
        entry_free(fresh); /* no reader has seen it */
    rtrcu_fetch_add(&refused, 1);
    return "busy";
}

static void cache_get(const char *key, char *answer)
{
    rcu_read_lock();
    struct rtrcu_hash_node *node = rtrcu_hash_lookup(cache, hash_of(key), has_key, key);
    struct entry *entry = node ? entry_of(node) : NULL;
    bool valid = entry && now_ns() < entry->expires_ns;
    if (valid && !rtrcu_load_relaxed(&entry->used)) /* an entry that is already marked costs no store */
        rtrcu_store_relaxed(&entry->used, true);
    snprintf(answer, TEXT_MAX, valid ? "value %s" : "miss", valid ? entry->value : "");
    rcu_read_unlock();
}

static const char *cache_drop(const char *key)
{
    rcu_read_lock();
    struct rtrcu_hash_node *node = rtrcu_hash_lookup(cache, hash_of(key), has_key, key);
    bool dropped = node && entry_remove(entry_of(node));
    rcu_read_unlock();
    return dropped ? "dropped" : "miss";
}

/* ---- the server -------------------------------------------------------------------------------------------------- */

static struct sockaddr_in address = {.sin_family = AF_INET};

static void serve(const char *request, char *answer)
{
    char verb[8], key[KEY_MAX], value[VALUE_MAX];
    unsigned int lifetime_ms;
    int words = sscanf(request, "%7s %31s %u %63s", verb, key, &lifetime_ms, value);
    if (words == 4 && strcmp(verb, "set") == 0)
        strcpy(answer, cache_set(key, lifetime_ms, value));
    else if (words == 2 && strcmp(verb, "get") == 0)
        cache_get(key, answer);
    else if (words == 2 && strcmp(verb, "drop") == 0)
        strcpy(answer, cache_drop(key));
    else
        strcpy(answer, "what?");
}

/* Serve until the request "stop". Without requests the thread sweeps, since recvfrom() returns every 5 ms. */
static void *worker(void *argument)
{
    int socket = *(int *)argument;
    for (unsigned int served = 0;; served++) {
        char request[TEXT_MAX], answer[TEXT_MAX];
        struct sockaddr_in client;
        socklen_t size = sizeof(client);
        ssize_t length = recvfrom(socket, request, sizeof(request) - 1, 0, (struct sockaddr *)&client, &size);
        if (length < 0 || served % 16 == 0)
            sweep_some(&(struct sweep){.now = now_ns()}, 32);
        if (length < 0)
            continue;

        request[length] = 0;
        if (strcmp(request, "stop") == 0)
            return NULL;
        serve(request, answer);
        (void)!sendto(socket, answer, strlen(answer), 0, (struct sockaddr *)&client, size);
    }
}

static int socket_make(struct timeval patience)
{
    int made = socket(AF_INET, SOCK_DGRAM, 0);
    if (made < 0 || setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0)
        exit(1);
    return made;
}

static int server_socket(void)
{
    socklen_t size = sizeof(address);
    int made = socket_make((struct timeval){.tv_usec = 5000});
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(made, (struct sockaddr *)&address, size) != 0 ||
        getsockname(made, (struct sockaddr *)&address, &size) != 0)
        exit(1);
    return made;
}

/* ---- clients ----------------------------------------------------------------------------------------------------- */

/* A client that checks answers. @version: the version of each key that the cache may still contain. An entry may be
 * missing at any time, since the cache evicts. */
struct client {
    pthread_t thread;
    int number, socket;
    unsigned long version[KEYS]; /* 0: none */
    uint64_t dead_ns[KEYS];      /* the time after which the key has certainly expired */
    unsigned long hits, misses, mistakes;
};

static bool flood_is_over; /* atomic */

static int client_socket(void)
{
    int made = socket_make((struct timeval){.tv_sec = 20});
    if (connect(made, (struct sockaddr *)&address, sizeof(address)) != 0)
        exit(1);
    return made;
}

/* False: no answer. */
static bool ask(int socket, const char *request, char *answer)
{
    ssize_t length = send(socket, request, strlen(request), 0);
    length = length < 0 ? length : recv(socket, answer, TEXT_MAX - 1, 0);
    answer[length < 0 ? 0 : length] = 0;
    return length > 0;
}

static bool set_is_right(struct client *client, unsigned int key, unsigned long version)
{
    char request[TEXT_MAX], answer[TEXT_MAX];
    unsigned int lifetime_ms = key % 2 ? 1 : 300;
    snprintf(request, sizeof(request), "set c%d-%u %u v%lu", client->number, key, lifetime_ms, version);
    if (!ask(client->socket, request, answer))
        return false;
    if (strcmp(answer, "stored") == 0) {
        client->version[key] = version;
        client->dead_ns[key] = now_ns() + lifetime_ms * UINT64_C(1000000);
        return true;
    }
    return strcmp(answer, "busy") == 0; /* the cache keeps the old version */
}

static bool get_is_right(struct client *client, unsigned int key)
{
    char request[TEXT_MAX], answer[TEXT_MAX], expected[TEXT_MAX];
    bool may_hit = client->version[key] && now_ns() < client->dead_ns[key];
    snprintf(request, sizeof(request), "get c%d-%u", client->number, key);
    snprintf(expected, sizeof(expected), "value v%lu", client->version[key]);
    if (!ask(client->socket, request, answer))
        return false;
    bool hit = strcmp(answer, "miss") != 0;
    client->hits += hit;
    client->misses += !hit;
    return !hit || (may_hit && strcmp(answer, expected) == 0);
}

static bool drop_is_right(struct client *client, unsigned int key)
{
    char request[TEXT_MAX], answer[TEXT_MAX];
    snprintf(request, sizeof(request), "drop c%d-%u", client->number, key);
    client->version[key] = 0;
    return ask(client->socket, request, answer) && (strcmp(answer, "dropped") == 0 || strcmp(answer, "miss") == 0);
}

static void *check(void *argument)
{
    struct client *client = argument;
    uint64_t seed = (uint64_t)client->number + 1;
    client->socket = client_socket();
    for (unsigned long version = 1; !rtrcu_load_relaxed(&flood_is_over) || version < 1000; version++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        unsigned int key = seed >> 33 & (KEYS - 1), choice = seed >> 60;
        bool right = choice < 4   ? set_is_right(client, key, version)
                     : choice < 5 ? drop_is_right(client, key)
                                  : get_is_right(client, key);
        client->mistakes += !right;
        if (!right && client->mistakes > 10)
            break;
    }
    close(client->socket);
    return NULL;
}

/* A client that stores more keys than the cache may have, each key once. The allowed answers are "stored" and "busy".
 * The lifetime of each key is 200 ms longer than the flood has lasted so far, so about half of the keys have not
 * expired at its end, on a slow machine too. */
static unsigned long flood(void)
{
    unsigned long mistakes = 0;
    uint64_t began = now_ns();
    int socket = client_socket();
    for (int i = 0; i < FLOOD && mistakes < 10; i++) {
        char request[TEXT_MAX], answer[TEXT_MAX];
        snprintf(request, sizeof(request), "set flood-%d %u %d", i, 200 + (unsigned int)((now_ns() - began) / 1000000),
                 i);
        mistakes += !ask(socket, request, answer) || (strcmp(answer, "stored") != 0 && strcmp(answer, "busy") != 0);
    }
    close(socket);
    rtrcu_store_release(&flood_is_over, true);
    return mistakes;
}

/* Wait until the sweeps have emptied the table, since all lifetimes end; false: entries were left after 40 seconds. */
static bool becomes_empty(void)
{
    struct rtrcu_hash_counters counters;
    for (int i = 0; i < 20000; i++) {
        rtrcu_hash_stats(cache, &counters);
        if (counters.entries == 0)
            return true;
        usleep(2000); /* the interval of the checks */
    }
    return false;
}

static void stop(pthread_t *workers)
{
    int socket = client_socket();
    for (int i = 0; i < WORKERS; i++)
        (void)!send(socket, "stop", 4, 0);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    close(socket);
}

int main(void)
{
    pthread_t workers[WORKERS];
    static struct client clients[CLIENTS];
    struct rtrcu_hash_config config = {.limit = ENTRIES};
    if (rtrcu_hash_create(&cache, &config) != 0)
        return 1;

    int socket = server_socket();
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, worker, &socket);
    for (int i = 0; i < CLIENTS; i++) {
        clients[i].number = i;
        pthread_create(&clients[i].thread, NULL, check, &clients[i]);
    }

    unsigned long mistakes = flood(), hits = 0, misses = 0;
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(clients[i].thread, NULL);
        hits += clients[i].hits;
        misses += clients[i].misses;
        mistakes += clients[i].mistakes;
    }
    bool empty = becomes_empty();
    stop(workers);
    rtrcu_hash_destroy(cache);
    rcu_barrier(); /* wait until the removed entries are freed */

    printf(
        "%d keys stored in a flood; entries: %lu evicted, %lu expired, %lu refused; answers: %lu hits, %lu misses, %lu "
        "mistakes; memory: at most %zu of %zu bytes, %zu at the end\n",
        FLOOD, evicted, expired, refused, hits, misses, mistakes, most_held, BYTES, held);
    close(socket);
    return mistakes == 0 && hits && misses && evicted + refused && empty && most_held <= BYTES && held == 0 ? 0 : 1;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A router on loopback: routes by longest prefix match, flows in a hash table, both changed while packets pass.
 *
 * usage: router [FILE], a list of lines "first,last,CC" with addresses as numbers, such as tor's geoip; without it the
 * routes are generated.
 *
 * A packet is a datagram that contains its destination, and for each link the port of the client at its end.  Two
 * workers take bursts, look up each destination in one section, count the packet in its flow, and pass it to the link
 * of the gateway.  Meanwhile a routing thread announces and withdraws prefixes, and forgets flows that are idle.
 * Clients compare each link with a list of the routes that they search by themselves, and at the end each packet must
 * be counted once.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rtrcu/list.h>
#include <rtrcu/lpm.h>
#include <rtrcu/table.h>

#define GENERATED 30000
#define GATEWAYS 64
#define LINKS 4 /* a further link gets the packets without a route */
#define WORKERS 2
#define CLIENTS 2
#define PACKETS 20000 /* of each client */
#define DESTINATIONS 4096
#define WINDOW 16 /* largest number of a client's packets in flight */
#define BURST 32
#define FLAPS 20 /* prefixes that the routing thread announces and withdraws */
#define TTL 8

struct prefix {
    uint32_t address, length, gateway;
};

struct packet {
    uint32_t destination, ttl;
    uint16_t ports[LINKS + 1];
};

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 32);
}

static uint32_t mask_of(uint32_t length)
{
    return length ? ~UINT32_C(0) << (32 - length) : 0;
}

/* ---- routes ------------------------------------------------------------------------------------------------------ */

/* Values of the table; many prefixes have the same value, so equal neighbours need no memory. */
static struct gateway {
    unsigned int link;
} gateways[GATEWAYS];
static struct rtrcu_lpm *routes;

static int route_add(const struct prefix *prefix)
{
    uint32_t key = htonl(prefix->address);
    return rtrcu_lpm_insert(routes, &key, prefix->length, &gateways[prefix->gateway]);
}

static int route_remove(const struct prefix *prefix)
{
    uint32_t key = htonl(prefix->address);
    return rtrcu_lpm_remove(routes, &key, prefix->length, NULL);
}

/* Return the link of a destination, in a section; LINKS: no route. */
static unsigned int route_link(uint32_t destination)
{
    const struct gateway *gateway = rtrcu_lpm_lookup_ipv4(routes, destination);
    return gateway ? gateway->link : LINKS;
}

/* ---- flows ------------------------------------------------------------------------------------------------------- */

/* A flow: the packets of a client to a destination. */
struct flow {
    struct rtrcu_hash_node node;
    struct rcu_head rcu;
    uint64_t key;
    unsigned long packets; /* atomic */
    bool used;             /* atomic: a packet was counted since forget() last visited the flow */
};

static struct rtrcu_hash *flows;
static unsigned long counted, flows_made, flows_forgotten, without_memory; /* atomic */

static struct flow *flow_of(struct rtrcu_hash_node *node)
{
    return list_entry(node, struct flow, node);
}

static bool has_key(const struct rtrcu_hash_node *node, const void *key)
{
    return list_entry(node, const struct flow, node)->key == *(const uint64_t *)key;
}

/* Callback that frees a flow, and adds its packets to the total: no section can count further packets in the flow. */
static void flow_end(struct rcu_head *head)
{
    struct flow *flow = list_entry(head, struct flow, rcu);
    rtrcu_fetch_add(&counted, flow->packets);
    free(flow);
}

/* Create the flow of a key, in a section. If several workers create the same flow, one succeeds, and the others use its
 * flow. */
static struct flow *flow_make(uint64_t key)
{
    struct flow *flow = malloc(sizeof(*flow));
    if (!flow)
        return NULL;
    *flow = (struct flow){.key = key};
    struct rtrcu_hash_node *existing;
    if (rtrcu_hash_insert(flows, key, &flow->node, has_key, &key, &existing) == 0) {
        rtrcu_fetch_add(&flows_made, 1);
        return flow;
    }
    free(flow);
    return flow_of(existing);
}

/* In a section. */
static void flow_count(uint16_t client, uint32_t destination)
{
    uint64_t key = (uint64_t)client << 32 | destination;
    struct rtrcu_hash_node *node = rtrcu_hash_lookup(flows, key, has_key, &key);
    struct flow *flow = node ? flow_of(node) : flow_make(key);
    if (!flow) {
        rtrcu_fetch_add(&without_memory, 1);
        return;
    }
    rtrcu_fetch_add(&flow->packets, 1);
    if (!rtrcu_load_relaxed(&flow->used)) /* a flow that is already marked costs no store */
        rtrcu_store_relaxed(&flow->used, true);
}

static void forget(struct rtrcu_hash_node *node, void *all)
{
    struct flow *flow = flow_of(node);
    if ((all || !rtrcu_exchange(&flow->used, false)) && rtrcu_hash_remove(flows, node) == 0) {
        rtrcu_fetch_add(&flows_forgotten, 1);
        call_rcu(&flow->rcu, flow_end);
    }
}

/* ---- workers ----------------------------------------------------------------------------------------------------- */

static struct sockaddr_in router = {.sin_family = AF_INET};
static unsigned long passed; /* atomic */

/* One burst: the packets that have arrived, and their links. */
struct burst {
    struct mmsghdr messages[BURST];
    struct iovec parts[BURST];
    struct packet packets[BURST];
    struct sockaddr_in peers[BURST];
};

static void burst_prepare(struct burst *burst)
{
    for (int i = 0; i < BURST; i++) {
        burst->parts[i] = (struct iovec){&burst->packets[i], sizeof(burst->packets[i])};
        burst->messages[i].msg_hdr = (struct msghdr){.msg_name = &burst->peers[i],
                                                     .msg_namelen = sizeof(burst->peers[i]),
                                                     .msg_iov = &burst->parts[i],
                                                     .msg_iovlen = 1};
    }
}

/* Address each packet of a burst to its link; all look-ups are in one section. Returns false if one of the packets ends
 * the worker. */
static bool burst_route(struct burst *burst, int count)
{
    bool goes_on = true;
    rcu_read_lock();
    for (int i = 0; i < count; i++) {
        struct packet *packet = &burst->packets[i];
        goes_on = goes_on && packet->ttl > 1;
        unsigned int link = route_link(packet->destination);
        if (packet->ttl > 1)
            flow_count(packet->ports[LINKS], packet->destination);
        packet->ttl--;
        burst->peers[i].sin_port = packet->ports[link];
    }
    rcu_read_unlock();
    return goes_on;
}

/* Send the packet that ends the worker that receives it. */
static void send_stop(int socket)
{
    struct packet packet = {.ttl = 1};
    (void)!sendto(socket, &packet, sizeof(packet), 0, (struct sockaddr *)&router, sizeof(router));
}

static void *worker(void *argument)
{
    static _Thread_local struct burst burst;
    int socket = *(int *)argument;
    for (bool goes_on = true; goes_on;) {
        burst_prepare(&burst);
        int count = recvmmsg(socket, burst.messages, BURST, MSG_WAITFORONE, NULL);
        if (count <= 0)
            continue;
        goes_on = burst_route(&burst, count);
        for (int sent = 0; goes_on && sent < count;) {
            int more = sendmmsg(socket, burst.messages + sent, (unsigned int)(count - sent), 0);
            sent += more > 0 ? more : 1;
        }
        if (goes_on)
            rtrcu_fetch_add(&passed, (unsigned long)count);
    }
    send_stop(socket); /* ends the next worker */
    return NULL;
}

/* ---- the routing thread ------------------------------------------------------------------------------------------ */

static struct prefix flaps[FLAPS];
static unsigned long route_changes;
static bool clients_ended; /* atomic */

static void *routing(void *argument)
{
    bool announced[FLAPS] = {false};
    uint64_t seed = 7, cursor = 0;
    while (!rtrcu_load_relaxed(&clients_ended) || route_changes == 0) {
        uint32_t i = next_random(&seed) % FLAPS;
        int error = announced[i] ? route_remove(&flaps[i]) : route_add(&flaps[i]);
        if (error == 0) {
            announced[i] = !announced[i];
            route_changes++;
        } else if (error != -EEXIST && error != -ENOMEM) { /* -EEXIST: a permanent route has this prefix */
            *(unsigned long *)argument += 1;
        }
        rtrcu_hash_walk(flows, &cursor, 4, forget, NULL);
        usleep(100); /* the interval between changes */
    }
    for (int i = 0; i < FLAPS; i++)
        while (announced[i] && route_remove(&flaps[i]) != 0) /* retries until memory is available */
            ;
    return NULL;
}

/* ---- the clients' own list of routes ----------------------------------------------------------------------------- */

static struct prefix *prefixes; /* sorted by address, then length; no duplicates */
static size_t prefix_count;

static int by_prefix(const void *a, const void *b)
{
    const struct prefix *left = a, *right = b;
    if (left->address != right->address)
        return left->address < right->address ? -1 : 1;
    return (left->length > right->length) - (left->length < right->length);
}

/* Find the longest prefix that contains an address, or NULL: one binary search for each length. */
static const struct prefix *search(uint32_t address)
{
    for (uint32_t length = 33; length-- > 0;) {
        struct prefix wanted = {address & mask_of(length), length, 0};
        const struct prefix *found = bsearch(&wanted, prefixes, prefix_count, sizeof(wanted), by_prefix);
        if (found)
            return found;
    }
    return NULL;
}

/* Whether a packet to @destination may leave by @link: by the permanent route, or by a longer prefix that the routing
 * thread announces and withdraws. */
static bool may_go_to(uint32_t destination, unsigned int link)
{
    const struct prefix *route = search(destination);
    if (link == (route ? gateways[route->gateway].link : LINKS))
        return true;
    for (int i = 0; i < FLAPS; i++)
        if ((destination & mask_of(flaps[i].length)) == flaps[i].address && gateways[flaps[i].gateway].link == link &&
            (!route || flaps[i].length > route->length))
            return true;
    return false;
}

static void prefix_append(uint32_t address, uint32_t length, uint32_t gateway)
{
    static size_t room;
    if (prefix_count == room) {
        room = room ? 2 * room : 4096;
        prefixes = realloc(prefixes, room * sizeof(*prefixes));
        if (!prefixes)
            abort();
    }
    prefixes[prefix_count++] = (struct prefix){address & mask_of(length), length, gateway % GATEWAYS};
}

/* Add the largest prefixes that cover a range exactly. */
static void range_append(uint64_t first, uint64_t last, uint32_t gateway)
{
    while (first <= last) {
        uint32_t bits = first ? (uint32_t)__builtin_ctzll(first) : 32;
        while (UINT64_C(1) << bits > last + 1 - first)
            bits--;
        prefix_append((uint32_t)first, 32 - bits, gateway);
        first += UINT64_C(1) << bits;
    }
}

/* Read the routes of a file; false: the file cannot be read. */
static bool read_prefixes(const char *name)
{
    char line[128], country[3];
    unsigned long first, last;
    FILE *file = fopen(name, "r");
    if (!file)
        return false;
    while (fgets(line, sizeof(line), file))
        if (sscanf(line, "%lu,%lu,%2s", &first, &last, country) == 3 && first <= last && last <= UINT32_MAX)
            range_append(first, last, (uint32_t)country[0] * 26 + (uint32_t)country[1]);
    fclose(file);
    return prefix_count > 0;
}

static void generate_prefixes(void)
{
    uint64_t seed = 1;
    for (int i = 0; i < GENERATED; i++) {
        uint32_t length = 24 - (uint32_t)__builtin_ctz(next_random(&seed) | 1 << 16);
        prefix_append(next_random(&seed), length + (i % 8 ? 0 : 6), next_random(&seed));
    }
}

static void sort_prefixes(void)
{
    size_t kept = 0;
    qsort(prefixes, prefix_count, sizeof(*prefixes), by_prefix);
    for (size_t i = 0; i < prefix_count; i++)
        if (kept == 0 || by_prefix(&prefixes[kept - 1], &prefixes[i]) != 0)
            prefixes[kept++] = prefixes[i];
    prefix_count = kept;

    uint64_t seed = 3;
    for (uint32_t i = 0; i < FLAPS; i++) { /* each prefix has a different length, so no two are equal */
        const struct prefix *near = &prefixes[next_random(&seed) % prefix_count];
        flaps[i] = (struct prefix){near->address & mask_of(10 + i), 10 + i, next_random(&seed) % GATEWAYS};
    }
}

/* ---- clients ----------------------------------------------------------------------------------------------------- */

struct client {
    pthread_t thread;
    int number;
    struct pollfd ends[LINKS + 1];
    struct packet packet;
    uint32_t destinations[DESTINATIONS];
    unsigned long arrived[LINKS + 1], mistakes;
};

static int bound_socket(struct sockaddr_in *address)
{
    socklen_t size = sizeof(*address);
    int made = socket(AF_INET, SOCK_DGRAM, 0);
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (made < 0 || bind(made, (struct sockaddr *)address, size) != 0 ||
        getsockname(made, (struct sockaddr *)address, &size) != 0)
        exit(1);
    return made;
}

/* Choose destinations: half of them under prefixes, the others random. */
static void client_begin(struct client *client)
{
    uint64_t seed = (uint64_t)client->number + 11;
    for (int i = 0; i < DESTINATIONS; i++) {
        const struct prefix *prefix = &prefixes[next_random(&seed) % prefix_count];
        uint32_t random = next_random(&seed);
        client->destinations[i] = i % 2 ? random : prefix->address | (random & ~mask_of(prefix->length));
    }
    for (int link = 0; link <= LINKS; link++) {
        struct sockaddr_in address = {0};
        client->ends[link] = (struct pollfd){bound_socket(&address), POLLIN, 0};
        client->packet.ports[link] = address.sin_port;
    }
    client->packet.ttl = TTL;
}

/* Receive the packets of one link. */
static int client_receive(struct client *client, unsigned int link)
{
    struct packet packet;
    int count = 0;
    while (recv(client->ends[link].fd, &packet, sizeof(packet), MSG_DONTWAIT) == (ssize_t)sizeof(packet)) {
        client->mistakes += packet.ttl != TTL - 1 || !may_go_to(packet.destination, link);
        client->arrived[link]++;
        count++;
    }
    return count;
}

static void *client_run(void *argument)
{
    struct client *client = argument;
    uint64_t seed = (uint64_t)client->number + 5;
    for (int sent = 0, back = 0; back < PACKETS && client->mistakes < 10;) {
        for (; sent < PACKETS && sent - back < WINDOW; sent++) { /* destinations come from a window that moves slowly */
            client->packet.destination =
                client->destinations[((uint32_t)sent / 8 + next_random(&seed) % 512) % DESTINATIONS];
            if (sendto(client->ends[0].fd, &client->packet, sizeof(client->packet), 0, (struct sockaddr *)&router,
                       sizeof(router)) < 0)
                client->mistakes++;
        }
        if (poll(client->ends, LINKS + 1, 20000) <= 0)
            client->mistakes += 10; /* no packet within 20 s: one was lost; 10 mistakes end the client */
        for (unsigned int link = 0; link <= LINKS; link++)
            back += client_receive(client, link);
    }
    return NULL;
}

/* ---- shutdown and checks ----------------------------------------------------------------------------------------- */

static void stop(pthread_t *workers)
{
    struct sockaddr_in address = {0};
    int socket = bound_socket(&address);
    send_stop(socket);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    close(socket);
}

static void count_route(const uint8_t *key, unsigned int length, void *value, void *routes_seen)
{
    struct prefix wanted = {(uint32_t)key[0] << 24 | (uint32_t)key[1] << 16 | (uint32_t)key[2] << 8 | key[3], length,
                            0};
    const struct prefix *found = bsearch(&wanted, prefixes, prefix_count, sizeof(wanted), by_prefix);
    *(unsigned long *)routes_seen += found && value == &gateways[found->gateway] ? 1 : 1000000;
}

/* Compare the routing table with the clients' list: the routes, and the results of look-ups.  Returns the number of
 * differences. */
static unsigned long compare(void)
{
    struct rtrcu_lpm_cursor cursor = {0};
    unsigned long seen = 0, differences = 0;
    uint64_t seed = 9;
    while (rtrcu_lpm_walk(routes, &cursor, 256, count_route, &seen))
        ;
    for (int i = 0; i < 100000; i++) {
        uint32_t address = next_random(&seed);
        const struct prefix *route = search(address);
        rcu_read_lock();
        differences += rtrcu_lpm_lookup_ipv4(routes, address) != (route ? &gateways[route->gateway] : NULL);
        rcu_read_unlock();
    }
    return differences + (seen != prefix_count);
}

static void load_routes(const char *name)
{
    if (name && !read_prefixes(name)) {
        fprintf(stderr, "router: %s has no routes\n", name);
        exit(1);
    }
    if (!name)
        generate_prefixes();
    sort_prefixes();
    for (unsigned int i = 0; i < GATEWAYS; i++)
        gateways[i].link = i % LINKS;
    for (size_t i = 0; i < prefix_count; i++)
        if (route_add(&prefixes[i]) != 0)
            exit(1);
}

static unsigned long run(struct client *clients)
{
    pthread_t workers[WORKERS], daemon;
    unsigned long mistakes = 0;
    int socket = bound_socket(&router);
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, worker, &socket);
    for (int i = 0; i < CLIENTS; i++) {
        clients[i].number = i;
        client_begin(&clients[i]);
    }
    pthread_create(&daemon, NULL, routing, &mistakes);
    for (int i = 0; i < CLIENTS; i++)
        pthread_create(&clients[i].thread, NULL, client_run, &clients[i]);

    for (int i = 0; i < CLIENTS; i++)
        pthread_join(clients[i].thread, NULL);
    rtrcu_store_relaxed(&clients_ended, true);
    pthread_join(daemon, NULL);
    stop(workers);
    close(socket);
    for (int i = 0; i < CLIENTS; i++)
        mistakes += clients[i].mistakes;
    return mistakes;
}

int main(int argc, char **argv)
{
    static struct client clients[CLIENTS];
    if (argc > 2 || rtrcu_lpm_create(&routes, 32) != 0 || rtrcu_hash_create(&flows, NULL) != 0)
        return 1;
    load_routes(argv[1]);
    unsigned long mistakes = run(clients) + compare(), lost = 0;

    uint64_t cursor = 0;
    while (rtrcu_hash_walk(flows, &cursor, 64, forget, &flows))
        ;
    rcu_barrier(); /* wait until every flow_end() has returned: @counted is complete */
    struct rtrcu_hash_counters counters;
    rtrcu_hash_stats(flows, &counters);
    lost = passed - counted - without_memory;
    printf(
        "%zu routes, changed %lu times; %lu packets in %lu flows, %lu on link 0 and %lu without a route; %lu mistakes, "
        "%lu not counted\n",
        prefix_count, route_changes, passed, flows_made, clients[0].arrived[0], clients[0].arrived[LINKS], mistakes,
        lost);
    rtrcu_hash_destroy(flows);
    rtrcu_lpm_destroy(routes);
    free(prefixes);
    return mistakes == 0 && lost == 0 && passed == CLIENTS * PACKETS && counters.entries == 0 &&
                   flows_made == flows_forgotten
               ? 0
               : 1;
}

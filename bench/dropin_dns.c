/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sends queries to a DNS server on the loopback, and times its answers; one thread, which polls.
 *
 * usage: bench_dropin_dns PORT NAMES SECONDS RATE
 * RATE is in queries per second. With rate 0 each answer causes the next query, so that a few queries are outstanding
 * on each socket. A query's latency is measured from the time at which it was due, so a query sent late counts as late.
 *
 * The program queries the addresses of h0.example.test to h<NAMES - 1>.example.test. It prints one line: queries,
 * answers, wrong answers, seconds, and the latencies in microseconds (50 %, 99 % and 99.9 % quantiles, the longest). */
#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define SOCKETS 8
#define UNDER_WAY 8 /* outstanding queries on each socket, if RATE is 0 */
#define LOST_NS 500000000
#define HEADER 12
#define NUMBERS 65536

/* A socket, and when the query of each number was due; 0: that query is not outstanding. */
struct asker {
    int socket;
    uint16_t next;
    int64_t due[NUMBERS];
};

static struct asker askers[SOCKETS];
static uint32_t *latencies; /* tenths of a microsecond */
static size_t answered, room;
static unsigned long asked, wrong;
static int names;
static uint64_t seed = 1;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static unsigned int random_below(unsigned int limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned int)(seed % limit);
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void ask(struct asker *asker, int64_t due)
{
    static const char tail[] = "\7example\4test\0\0\1\0\1"; /* A, IN */
    unsigned char question[64] = {0};
    uint16_t number = asker->next++;
    question[0] = (unsigned char)(number >> 8);
    question[1] = (unsigned char)number;
    question[5] = 1;
    int length = sprintf((char *)question + HEADER + 1, "h%u", random_below((unsigned int)names));
    question[HEADER] = (unsigned char)length;
    memcpy(question + HEADER + 1 + length, tail, sizeof(tail) - 1);
    size_t size = HEADER + 1 + (size_t)length + sizeof(tail) - 1;
    asker->due[number] = due;
    asked++;
    if (send(asker->socket, question, size, MSG_DONTWAIT) < 0 && errno != EAGAIN && errno != ENOBUFS)
        die("send");
}

/* Receive the answers that have arrived on a socket, and count wrong answers.  Returns the number of correct
 * answers. */
static int take_answers(struct asker *asker)
{
    unsigned char answer[512];
    int count = 0;
    while (recv(asker->socket, answer, sizeof(answer), MSG_DONTWAIT) >= HEADER) {
        uint16_t number = (uint16_t)(answer[0] << 8 | answer[1]);
        int64_t due = asker->due[number];
        asker->due[number] = 0;
        if (due == 0 || (answer[3] & 15) != 0 || answer[7] != 1) {
            wrong++;
            continue;
        }
        count++;
        if (answered < room)
            latencies[answered++] = (uint32_t)((now_ns() - due) / 100);
    }
    return count;
}

/* Send queries at a fixed rate. A query whose due time has passed is sent late, not skipped. */
static void run_at_rate(int64_t began, int64_t until, double rate)
{
    double interval = 1e9 / rate;
    unsigned long number = 0;
    for (int64_t now = began; now < until; now = now_ns()) {
        for (int64_t due; (due = began + (int64_t)((double)number * interval)) <= now && due < until; number++)
            ask(&askers[number % SOCKETS], due);
        for (int i = 0; i < SOCKETS; i++)
            (void)take_answers(&askers[i]);
    }
}

/* Send a new query for each answer. A socket that has received no answer for LOST_NS starts again with UNDER_WAY
 * queries. */
static void run_freely(int64_t until)
{
    int64_t heard[SOCKETS] = {0};
    for (int64_t now = now_ns(); now < until; now = now_ns()) {
        for (int i = 0; i < SOCKETS; i++) {
            int more = take_answers(&askers[i]);
            if (more == 0 && now - heard[i] < LOST_NS)
                continue;
            more = heard[i] && more ? more : UNDER_WAY;
            heard[i] = now;
            while (more-- > 0)
                ask(&askers[i], now);
        }
    }
}

static int ascending(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static double quantile(double part)
{
    return answered ? latencies[(size_t)((double)(answered - 1) * part)] / 10.0 : 0;
}

static void connect_all(int port)
{
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < SOCKETS; i++) {
        askers[i].socket = socket(AF_INET, SOCK_DGRAM, 0);
        if (askers[i].socket < 0 || connect(askers[i].socket, (struct sockaddr *)&server, sizeof(server)) != 0)
            die("connect");
    }
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: bench_dropin_dns PORT NAMES SECONDS RATE\n");
        return 2;
    }
    names = atoi(argv[2]);
    double seconds = atof(argv[3]), rate = atof(argv[4]);
    room = (size_t)(seconds * (rate > 0 ? rate + 1 : 2e6)) + 1;
    latencies = malloc(room * sizeof(*latencies));
    if (!latencies)
        die("malloc");
    connect_all(atoi(argv[1]));
    int64_t began = now_ns(), until = began + (int64_t)(seconds * 1e9);
    if (rate > 0)
        run_at_rate(began, until, rate);
    else
        run_freely(until);
    double took = (double)(now_ns() - began) / 1e9;
    for (int64_t now = now_ns(), end = now + LOST_NS; now < end && answered + wrong < asked; now = now_ns()) {
        for (int i = 0; i < SOCKETS; i++)
            (void)take_answers(&askers[i]);
    }
    qsort(latencies, answered, sizeof(*latencies), ascending);
    printf("%lu %zu %lu %.3f %.1f %.1f %.1f %.1f\n", asked, answered, wrong, took, quantile(0.5), quantile(0.99),
           quantile(0.999), quantile(1));
    return 0;
}

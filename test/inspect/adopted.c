/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Program with two flavours of liburcu, whose words are in the program. In one a thread is inside, in the other a
 * thread is online; both hold up a grace period until standard input ends. thread NAME NUMBER a thread and its id from
 * gettid(2) ready printed when all are set up */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rtrcu/rcu.h>

#include <rtrcu/detail/adopt.h>
#include <rtrcu/detail/atomic.h>

static uint64_t generation[2] = {1, 1};
static uint32_t futex[2];
static __thread struct rtrcu_adopted_reader self[2];
static struct rtrcu_adopted *nested, *online;
static pthread_barrier_t begun, end;
static struct rcu_head heads[3];

static struct rtrcu_adopted_reader *nested_self(void)
{
    return &self[0];
}
static struct rtrcu_adopted_reader *online_self(void)
{
    return &self[1];
}

static struct adopt_ring **ring(void)
{
    static __thread struct adopt_ring *own;
    return &own;
}

static void say(const char *name)
{
    printf("thread %s %ld\n", name, syscall(SYS_gettid));
}

static void nothing(struct rcu_head *head)
{
    (void)head;
}

/* A server runs a callback and a barrier's callback, and is freed. */
static void use_a_server(void)
{
    static struct rcu_head head;
    struct adopt_server *server = rtrcu_adopt_server_create(nested, 0, -1);
    rtrcu_adopt_server_set_thread(nested, server);
    rtrcu_adopt_call(nested, &head, nothing);
    rtrcu_adopt_barrier(nested);
    rtrcu_adopt_server_set_thread(nested, NULL);
    rtrcu_adopt_server_free(nested, server);
}

static void *read_nested(void *unused)
{
    rtrcu_adopt_register(nested);
    (void)rtrcu_exchange(&self[0].word, generation[0] + 2); /* nested three deep */
    say("reader");
    pthread_barrier_wait(&begun);
    pthread_barrier_wait(&end);
    (void)rtrcu_exchange(&self[0].word, 0);
    rtrcu_adopt_wake(nested);
    rtrcu_adopt_unregister(nested);
    return unused;
}

static void *stay_online(void *unused)
{
    rtrcu_adopt_register(online);
    say("loop");
    pthread_barrier_wait(&begun);
    pthread_barrier_wait(&end);
    rtrcu_adopt_unregister(online);
    return unused;
}

static void *update(void *adopted)
{
    rtrcu_adopt_synchronize(adopted);
    return adopted;
}

int main(void)
{
    struct rtrcu_adopt_flavour flavours[2] = {
        {RTRCU_ADOPT_MB, "nested", &generation[0], &futex[0], NULL, nested_self, NULL, ring},
        {RTRCU_ADOPT_QSBR, "online", &generation[1], &futex[1], NULL, online_self, NULL, NULL},
    };
    pthread_t threads[4];
    char byte;
    nested = rtrcu_adopt(&flavours[0]);
    online = rtrcu_adopt(&flavours[1]);
    use_a_server();
    pthread_barrier_init(&begun, NULL, 3);
    pthread_barrier_init(&end, NULL, 3);
    pthread_create(&threads[0], NULL, read_nested, NULL);
    pthread_create(&threads[1], NULL, stay_online, NULL);
    pthread_barrier_wait(&begun);
    pthread_create(&threads[2], NULL, update, nested);
    pthread_create(&threads[3], NULL, update, online);
    for (int i = 0; i < 3; i++)
        rtrcu_adopt_call(nested, &heads[i], nothing);
    rtrcu_adopt_defer(nested, free, NULL);
    puts("ready");
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        ;
    pthread_barrier_wait(&end);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    rtrcu_adopt_barrier(nested);
    return 0;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Servers of callbacks: one thread per handle, in order; choice by thread, CPU and default; their end; and calls that
 * wait. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include HEADER
#include <rtrcu/config.h>

#include "dropin.h"

#define COUNT 1000

struct numbered {
    struct rcu_head rcu;
    unsigned int number;
};

static struct numbered heads[COUNT];
static unsigned int next_number;
static pthread_t runner;

static void in_order(struct rcu_head *head)
{
    struct numbered *numbered = caa_container_of(head, struct numbered, rcu);
    EXPECT(numbered->number == next_number);
    next_number++;
    runner = pthread_self();
    rcu_read_lock(); /* the server's thread is a reader */
    rcu_read_unlock();
}

static void queue_all(void)
{
    next_number = 0;
    for (unsigned int i = 0; i < COUNT; i++) {
        heads[i].number = i;
        call_rcu(&heads[i].rcu, in_order);
    }
    rcu_barrier();
    EXPECT(next_number == COUNT);
}

static void test_default(void)
{
    EXPECT(get_thread_call_rcu_data() == NULL);
    EXPECT(get_call_rcu_data() == get_default_call_rcu_data());
    queue_all();
    EXPECT(get_default_call_rcu_data() == get_default_call_rcu_data());
}

static void test_thread(void)
{
    struct call_rcu_data *own = create_call_rcu_data(0, -1);
    EXPECT(own);
    set_thread_call_rcu_data(own);
    EXPECT(get_thread_call_rcu_data() == own && get_call_rcu_data() == own);
    queue_all();
    pthread_t thread = get_call_rcu_thread(own);
    EXPECT(pthread_equal(thread, runner));
    set_thread_call_rcu_data(NULL);
    call_rcu_data_free(own);
    EXPECT(pthread_join(thread, NULL) == 0); /* the creator of a thread's handle joins the thread */
}

static unsigned int late;

static void count_late(struct rcu_head *head)
{
    (void)head;
    late++;
}

/* The remaining callbacks of a freed handle are passed to the default handle. */
static void test_handed_over(void)
{
    struct call_rcu_data *own = create_call_rcu_data(URCU_CALL_RCU_RT, 0);
    static struct rcu_head some[100];
    EXPECT(own);
    set_thread_call_rcu_data(own);
    for (int i = 0; i < 100; i++)
        call_rcu(&some[i], count_late);
    set_thread_call_rcu_data(NULL);
    call_rcu_data_free(own);
    rcu_barrier();
    EXPECT(late == 100);
}

static void test_cpus(void)
{
    pthread_t thread;
    bool asked = false;
    EXPECT(set_cpu_call_rcu_data(-1, NULL) == -EINVAL);
    EXPECT(set_cpu_call_rcu_data(1 << 20, get_default_call_rcu_data()) == -EINVAL && errno == EINVAL);
    EXPECT(create_all_cpu_call_rcu_data(0) == 0);
    EXPECT(get_cpu_call_rcu_data(0) && get_cpu_call_rcu_data(0) != get_default_call_rcu_data());
    EXPECT(set_cpu_call_rcu_data(0, get_default_call_rcu_data()) == -EEXIST);
    cpu_set_t set, before;
    sched_getaffinity(0, sizeof(before), &before);
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    if (CPU_ISSET(0, &before) && sched_setaffinity(0, sizeof(set), &set) == 0) {
        EXPECT(get_call_rcu_data() == get_cpu_call_rcu_data(0));
        queue_all();
        sched_setaffinity(0, sizeof(before), &before);
        thread = get_call_rcu_thread(get_cpu_call_rcu_data(0));
        EXPECT(pthread_equal(thread, runner));
        asked = true;
    }
    free_all_cpu_call_rcu_data();
    if (asked)
        EXPECT(pthread_join(thread, NULL) == 0);
    EXPECT(get_cpu_call_rcu_data(0) == NULL);
}

#define ROUNDS 100

static bool made_and_freed;
static unsigned long queued_meanwhile, ran_meanwhile, ran_by_cpus;
static pthread_t default_runner;

static void *make_and_free(void *unused)
{
    (void)unused;
    /* at least ROUNDS times, and until a server of a CPU has run a callback */
    for (unsigned int i = 0; i < ROUNDS || rtrcu_load_relaxed(&ran_by_cpus) == 0; i++) {
        EXPECT(create_all_cpu_call_rcu_data(0) == 0);
        free_all_cpu_call_rcu_data();
    }
    rtrcu_store_release(&made_and_freed, true);
    return NULL;
}

static void run_meanwhile(struct rcu_head *head)
{
    rtrcu_fetch_add(&ran_meanwhile, 1); /* run by servers of several CPUs at the same time */
    if (!pthread_equal(pthread_self(), default_runner))
        rtrcu_fetch_add(&ran_by_cpus, 1);
    free(head);
}

/* A freed server is not queued to any more: its memory has been returned to the system. */
static void test_cpus_come_and_go(void)
{
    pthread_t thread;
    queue_all();
    default_runner = runner;
    EXPECT(pthread_create(&thread, NULL, make_and_free, NULL) == 0);
    while (!rtrcu_load_acquire(&made_and_freed)) {
        for (int i = 0; i < 64; i++) {
            struct rcu_head *head = malloc(sizeof(*head));
            EXPECT(head);
            queued_meanwhile++;
            call_rcu(head, run_meanwhile);
        }
        called.quiescent();
        if (queued_meanwhile % 1024 == 0)
            rcu_barrier();
    }
    EXPECT(pthread_join(thread, NULL) == 0);
    rcu_barrier();
    EXPECT(ran_meanwhile == queued_meanwhile);
}

static uintptr_t deferred, deferred_elsewhere;

static void run_in_order(void *p)
{
    EXPECT((uintptr_t)p == deferred);
    deferred++;
}

static void run_elsewhere(void *p)
{
    EXPECT((uintptr_t)p == rtrcu_load_relaxed(&deferred_elsewhere));
    rtrcu_store_relaxed(&deferred_elsewhere, (uintptr_t)p + 1);
}

static void *defer_elsewhere(void *unregisters)
{
    rcu_register_thread();
    EXPECT(rcu_defer_register_thread() == 0);
    for (uintptr_t i = 0; i < COUNT; i++)
        defer_rcu(run_elsewhere, (void *)i);
    if (unregisters) { /* unregistering has run the thread's deferred functions */
        rcu_defer_unregister_thread();
        EXPECT(rtrcu_load_relaxed(&deferred_elsewhere) == COUNT);
    }
    rcu_unregister_thread();
    return NULL;
}

static void test_defer_elsewhere(void *unregisters)
{
    pthread_t thread;
    deferred_elsewhere = 0;
#if QUIESCES
    rcu_thread_offline();
#endif
    EXPECT(pthread_create(&thread, NULL, defer_elsewhere, unregisters) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
#if QUIESCES
    rcu_thread_online();
#endif
    rcu_defer_barrier(); /* runs the deferred functions of all threads */
    EXPECT(deferred_elsewhere == COUNT);
}

/* Deferred functions of one thread run in the order in which the thread deferred them. */
static void test_defer(void)
{
    EXPECT(rcu_defer_register_thread() == 0);
    for (uintptr_t i = 0; i < 5000; i++)
        defer_rcu(run_in_order, (void *)i);
    rcu_defer_barrier_thread();
    EXPECT(deferred == 5000);
    defer_rcu(run_in_order, (void *)deferred);
    rcu_defer_barrier();
    EXPECT(deferred == 5001);
    test_defer_elsewhere(&deferred);
    test_defer_elsewhere(NULL);
    defer_rcu(run_in_order, (void *)deferred);
    rcu_defer_unregister_thread();
    EXPECT(deferred == 5002);
}

/* Each flavour has counters of its own, and the library's do not include them. */
static void test_counters(void)
{
    static const char *const flavours[] = {"urcu-memb", "urcu-mb", "urcu-qsbr", "urcu-bp"};
    typeof(rtrcu_stats_of) *stats_of = (typeof(rtrcu_stats_of) *)dlsym(RTLD_DEFAULT, "rtrcu_stats_of");
    int found = 0;
    EXPECT(stats_of);
    for (int i = 0; i < 4; i++) {
        struct rtrcu_stats stats = {.size = sizeof(stats)}, before;
        if (stats_of(flavours[i], &stats) == -ENOENT)
            continue;
        found++;
        before = stats;
        synchronize_rcu();
        queue_all();
        EXPECT(stats_of(flavours[i], &stats) == 0 && stats.size == sizeof(stats));
        EXPECT(stats.gp_completed > before.gp_completed && stats.threads_registered >= 1);
        EXPECT(stats.callbacks_queued >= before.callbacks_queued + COUNT);
        EXPECT(stats.callbacks_backlog == stats.callbacks_queued - stats.callbacks_invoked);
        EXPECT(stats.callbacks_backlog <= 1); /* a server counts a callback after it has returned */
        stats.size = 7;
        EXPECT(stats_of(flavours[i], &stats) == -EINVAL);
    }
    EXPECT(found == 1);
    struct rtrcu_stats own = {.size = sizeof(own)};
    EXPECT(stats_of(NULL, &own) == 0 && own.callbacks_queued == 0);
}

static void barrier_inside(struct rcu_head *head)
{
    (void)head;
    rcu_barrier(); /* reports the misuse, and returns */
}

static void test_barrier_inside(void)
{
    static struct rcu_head head;
#if !QUIESCES
    rcu_read_lock();
    rcu_barrier();
    rcu_read_unlock();
#endif
    call_rcu(&head, barrier_inside);
    rcu_barrier();
}

static unsigned long queued, ran;

static void run_slowly(struct rcu_head *head)
{
    for (int i = 0; i < 200; i++)
        EXPECT(rtrcu_load_relaxed(&ran) != ~0ul);
    rtrcu_store_relaxed(&ran, ran + 1);
    free(head);
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A caller stops waiting for a server that makes no progress for 100 ms, as may happen on a busy machine.  It checks
 * again after 64 calls. */
static unsigned long let_through(int64_t began_ns)
{
    return (unsigned long)((now_ns() - began_ns) / 100000000) * 64;
}

static void flood(unsigned long count, unsigned long most)
{
    int64_t began_ns = now_ns();
    for (unsigned long i = 0; i < count; i++) {
        struct rcu_head *head = malloc(sizeof(*head));
        EXPECT(head);
        call_rcu(head, run_slowly);
        queued++;
        unsigned long waiting = queued - rtrcu_load_relaxed(&ran);
        EXPECT(waiting <= most || waiting <= most + let_through(began_ns));
    }
}

/* At qmax a caller waits if it may.  A reader continues, since it may not wait. */
static void test_backlog(unsigned long qmax)
{
#if QUIESCES
    rcu_thread_offline();
#endif
    flood(50000, qmax + 64);
#if QUIESCES
    rcu_thread_online();
#endif
    rcu_read_lock();
    alarm(10); /* ends the test if each call wrongly waits 100 ms */
    flood(10 * qmax, 50000 + 10 * qmax);
    alarm(0);
    EXPECT(queued - rtrcu_load_relaxed(&ran) > 8 * qmax);
    rcu_read_unlock();
    called.quiescent();
    rcu_barrier();
    EXPECT(queued == ran);
}

int main(int argc, char **argv)
{
    expect_ours();
    rcu_register_thread();
    if (argc > 1) {
        test_backlog(strtoul(argv[1], NULL, 10));
        rcu_unregister_thread();
        return 0;
    }
    test_default();
    test_thread();
    test_handed_over();
    test_cpus();
    test_cpus_come_and_go();
    test_defer();
    test_barrier_inside();
    test_counters();
    rcu_unregister_thread();
    return 0;
}

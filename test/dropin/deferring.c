/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Test of the limit of defer_rcu(): a thread whose ring is full waits for a grace period, and runs the functions it has
 * deferred. */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include HEADER

#include "dropin.h"

#define RING 4096
#define MANY 20000

static int inside, held, deferring;
static unsigned long deferred, ran, ran_elsewhere;
static pid_t deferrer;

static void offline(void)
{
#if QUIESCES
    rcu_thread_offline();
#endif
}

static void online(void)
{
#if QUIESCES
    rcu_thread_online();
#endif
}

static void start(pthread_t *thread, void *(*body)(void *), void *argument)
{
    EXPECT(pthread_create(thread, NULL, body, argument) == 0);
}

static void join(pthread_t thread)
{
    offline();
    EXPECT(pthread_join(thread, NULL) == 0);
    online();
}

static void run(void *p)
{
    EXPECT((uintptr_t)p == rtrcu_load_relaxed(&ran)); /* deferred functions run in order */
    rtrcu_store_relaxed(&ran, ran + 1);
}

static void run_elsewhere(void *p)
{
    (void)p;
    rtrcu_fetch_add(&ran_elsewhere, 1);
}

/* Defer @count functions.  After each call, expect that at most a full ring of functions and the running one remain. */
static void defer_many(unsigned long count)
{
    for (unsigned long i = 0; i < count; i++) {
        defer_rcu(run, (void *)deferred);
        rtrcu_store_relaxed(&deferred, deferred + 1);
        EXPECT(deferred - rtrcu_load_relaxed(&ran) <= RING + 1);
    }
}

static void begin(void)
{
    deferred = ran = ran_elsewhere = 0;
    EXPECT(rcu_defer_register_thread() == 0);
}

static void end(void)
{
    rcu_defer_unregister_thread();
    EXPECT(ran == deferred);
}

static bool is_asleep(pid_t thread)
{
    char path[64], state = 0;
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)thread);
    FILE *file = fopen(path, "r");
    EXPECT(file && fscanf(file, "%*d %*s %c", &state) == 1);
    fclose(file);
    return state == 'S';
}

/* ---- a reader stays inside until the deferring thread sleeps ---- */

static void *stay_inside(void *unused)
{
    rcu_register_thread();
    rcu_read_lock();
    rtrcu_store_release(&inside, 1);
    while (!rtrcu_load_acquire(&deferring) || !is_asleep(deferrer))
        sched_yield();
    rcu_read_unlock();
    rcu_unregister_thread();
    return unused;
}

static void test_reader(void)
{
    pthread_t reader;
    inside = deferring = 0;
    deferrer = (pid_t)syscall(SYS_gettid);
    begin();
    start(&reader, stay_inside, NULL);
    while (!rtrcu_load_acquire(&inside))
        called.quiescent();
    rtrcu_store_release(&deferring, 1);
    defer_many(MANY);
    join(reader);
    end();
}

/* ---- a callback waits for a lock of the deferring thread ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void take_lock(struct rcu_head *head)
{
    (void)head;
    offline();
    rtrcu_store_release(&held, 1);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    online();
}

static void test_callback(void)
{
    static struct rcu_head head;
    held = 0;
    begin();
    pthread_mutex_lock(&lock);
    call_rcu(&head, take_lock);
    offline();
    while (!rtrcu_load_acquire(&held))
        sched_yield();
    online();
    defer_many(MANY);
    rcu_defer_barrier_thread();
    EXPECT(ran == deferred);
    rcu_defer_barrier();
    pthread_mutex_unlock(&lock);
    rcu_barrier();
    end();
}

/* ---- calls inside a section, and inside a deferred function ---- */

/* The thread does not wait, since it is a reader.  This is a misuse, which is reported. */
static void test_section(void)
{
#if !QUIESCES
    begin();
    rcu_read_lock();
    for (int i = 0; i < MANY; i++)
        defer_rcu(run_elsewhere, NULL);
    rcu_defer_barrier();
    rcu_read_unlock();
    rcu_defer_barrier();
    EXPECT(ran_elsewhere == MANY);
    end();
#endif
}

static void defer_three(void *p)
{
    for (int i = 0; i < 3; i++)
        defer_rcu(run_elsewhere, p);
    rcu_defer_barrier(); /* reports the misuse, and returns */
    rtrcu_fetch_add(&ran_elsewhere, 1);
}

static void test_nested(void)
{
    begin();
    for (int i = 0; i < MANY; i++)
        defer_rcu(defer_three, NULL);
    rcu_defer_barrier(); /* runs the functions deferred above, if no other thread does */
    rcu_defer_barrier();
    EXPECT(ran_elsewhere == 4 * MANY);
    end();
}

/* ---- threads that exit ---- */

static void *defer_and_end(void *count)
{
    for (uintptr_t i = 0; i < (uintptr_t)count; i++)
        defer_rcu(run_elsewhere, NULL);
    return NULL;
}

static void test_ends(void)
{
    pthread_t threads[8];
    begin();
    for (uintptr_t i = 0; i < 8; i++)
        start(&threads[i], defer_and_end, (void *)(1000 * i));
    for (int i = 0; i < 8; i++)
        join(threads[i]);
    rcu_defer_barrier();
    EXPECT(ran_elsewhere == 28000);

    offline();
    /* without a barrier, so that the next thread takes over the remaining functions */
    for (uintptr_t i = 0; i < 1000; i++) {
        start(&threads[0], defer_and_end, (void *)3);
        EXPECT(pthread_join(threads[0], NULL) == 0);
    }
    /* no thread calls the library, so the thread of the default handle runs the remaining functions */
    while (rtrcu_load_relaxed(&ran_elsewhere) != 31000)
        sched_yield();
    online();
    end();
}

/* A function may end the thread that drains; other threads continue. */
static void end_thread(void *p)
{
    if (pthread_equal(pthread_self(), *(pthread_t *)p))
        pthread_exit(NULL);
}

static void *defer_own_end(void *unused)
{
    static pthread_t self;
    self = pthread_self();
    for (int i = 0; i < MANY; i++)
        defer_rcu(end_thread, &self);
    return unused;
}

static void test_drainer_ends(void)
{
    pthread_t thread;
    begin();
    start(&thread, defer_own_end, NULL);
    join(thread);
    defer_many(MANY);
    end();
}

/* ---- forks ---- */

static void fork_here(void *p)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        ran_elsewhere = 0;
        for (int i = 0; i < MANY; i++)
            defer_rcu(run_elsewhere, NULL);
        _exit(0);
    }
    offline();
    EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    online();
    run(p);
}

static void *defer_for_ever(void *unused)
{
    while (!rtrcu_load_relaxed(&held)) {
        rtrcu_fetch_add(&deferring, 1);
        defer_rcu(run_elsewhere, NULL);
    }
    return unused;
}

/* In the child, deferred functions are run by their thread and by others. */
static void test_fork(void)
{
    pthread_t thread;
    int status = 0;
    begin();
    held = deferring = 0;
    start(&thread, defer_for_ever, NULL);
    for (int i = 0; i < 20; i++) {
        defer_many(1000 + (unsigned long)i);
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            rcu_defer_barrier();
            EXPECT(ran == deferred || ran + 1 == deferred); /* one function may have been running at the fork */
            ran = deferred = 0;
            defer_many(MANY);
            rcu_defer_barrier_thread();
            EXPECT(ran == deferred);
            defer_many(1);
            offline();
            while (rtrcu_load_relaxed(&ran) != deferred)
                sched_yield();
            _exit(0);
        }
        offline();
        EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
        online();
    }
    rtrcu_store_relaxed(&held, 1);
    join(thread);
    defer_rcu(fork_here, (void *)deferred); /* forks in whichever thread runs the function */
    deferred++;
    defer_many(MANY);
    rcu_defer_barrier();
    EXPECT(ran_elsewhere == (unsigned long)deferring);
    end();
}

int main(void)
{
    expect_ours();
    rcu_register_thread();
    test_reader();
    test_callback();
    test_section();
    test_nested();
    test_ends();
    test_drainer_ends();
    test_fork();
    rcu_unregister_thread();
    return 0;
}

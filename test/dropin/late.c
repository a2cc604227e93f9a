/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Reports of calls that wait too long for callbacks: they name the thread that runs one, and its function.
 * Each function delays its caller until the report of the wait is printed. argv[1]: no thread can be created meanwhile.
 */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include HEADER

#include "dropin.h"

static int report, screen;
static char said[1 << 16];
static size_t length;
static int waiting, running;

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

/* Read everything that is printed on standard error from here on. */
static void listen_to_errors(void)
{
    int ends[2];
    EXPECT(pipe(ends) == 0);
    screen = dup(STDERR_FILENO);
    EXPECT(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
    report = ends[0];
}

static void read_some(void)
{
    struct pollfd ready = {.fd = report, .events = POLLIN};
    EXPECT(poll(&ready, 1, -1) == 1);
    ssize_t bytes = read(report, said + length, sizeof(said) - length - 1);
    EXPECT(bytes > 0);
    EXPECT(write(screen, said + length, (size_t)bytes) == bytes);
    length += (size_t)bytes;
    said[length] = 0;
}

/* Wait until one report contains both texts, and its last line is complete. */
static void await(const char *call, const char *detail)
{
    for (;;) { /* ended by the alarm, if no report is printed */
        const char *at = strstr(said, call);
        at = at ? strstr(at, detail) : NULL;
        if (at && strchr(at, '\n'))
            break;
        read_some();
    }
    length = 0;
    said[0] = 0;
}

static void hold_callback(struct rcu_head *head)
{
    (void)head;
    offline();
    await("rcu_barrier() has waited for", "or has just run the function at ");
    online();
}

static void test_barrier(void)
{
    static struct rcu_head head;
    call_rcu(&head, hold_callback);
    rcu_barrier();
}

static void hold_handle(struct rcu_head *head)
{
    (void)head;
    offline();
    rtrcu_store_release(&running, 1);
    await("call_rcu_data_free() has waited for", "or has just run the function at ");
    online();
}

static void test_free(void)
{
    static struct rcu_head head;
    struct call_rcu_data *handle = create_call_rcu_data(0, -1);
    set_thread_call_rcu_data(handle);
    call_rcu(&head, hold_handle);
    set_thread_call_rcu_data(NULL);
    offline();
    while (!rtrcu_load_acquire(&running))
        sched_yield();
    online();
    call_rcu_data_free(handle);
}

static void hold_deferred(void *unused)
{
    (void)unused;
    offline();
    rtrcu_store_release(&running, 1);
    await("rcu_defer_barrier() has waited for", "or has just run the function at ");
    online();
}

static void *defer_one(void *unused)
{
    rcu_register_thread();
    rcu_defer_register_thread();
    defer_rcu(hold_deferred, NULL);
    rcu_defer_unregister_thread();
    rcu_unregister_thread();
    return unused;
}

static void test_defer(void)
{
    pthread_t thread;
    running = 0;
    EXPECT(pthread_create(&thread, NULL, defer_one, NULL) == 0);
    offline();
    while (!rtrcu_load_acquire(&running))
        sched_yield();
    online();
    rcu_defer_barrier();
    offline();
    EXPECT(pthread_join(thread, NULL) == 0);
    online();
}

/* ---- no thread can be created: the kernel has no memory for its stack ---- */

static void let_the_kernel_have_memory(bool has)
{
    struct rlimit limit;
    EXPECT(getrlimit(RLIMIT_AS, &limit) == 0);
    limit.rlim_cur = has ? limit.rlim_max : 0;
    EXPECT(setrlimit(RLIMIT_AS, &limit) == 0);
}

static void *await_refusal(void *call)
{
    rtrcu_store_release(&waiting, 1);
    await(call, "no thread can be created");
    let_the_kernel_have_memory(true);
    return NULL;
}

static void run(struct rcu_head *head)
{
    (void)head;
    rtrcu_store_relaxed(&running, 1);
}

static void test_refused(const char *call, void (*waits)(void))
{
    pthread_t thread;
    waiting = running = 0;
    EXPECT(pthread_create(&thread, NULL, await_refusal, (void *)call) == 0);
    while (!rtrcu_load_acquire(&waiting))
        sched_yield();
    let_the_kernel_have_memory(false);
    waits();
    offline();
    EXPECT(pthread_join(thread, NULL) == 0);
    online();
}

static void barrier_refused(void)
{
    static struct rcu_head head;
    call_rcu(&head, run);
    rcu_barrier();
    EXPECT(running);
}

int main(int argc, char **argv)
{
    (void)argv;
    expect_ours();
    alarm(60);
    listen_to_errors();
    rcu_register_thread();
    if (argc > 1) {
        test_refused("rcu_barrier() has waited for", barrier_refused);
    } else {
        test_barrier();
        test_free();
        test_defer();
    }
    rcu_unregister_thread();
    return 0;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls without memory: for a handle, for a handle's thread, for the functions that defer_rcu() stores, and for a
 * reader. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include HEADER

#include "dropin.h"

/* More readers than fit into the first chunk of memory. */
#define READERS 40
#define DEFERRED 20000

/* Without memory: limit the address space, so that the kernel refuses memory.  With memory: remove the limit. */
static void let_the_kernel_have_memory(bool has)
{
    struct rlimit limit;
    EXPECT(getrlimit(RLIMIT_AS, &limit) == 0);
    limit.rlim_cur = has ? limit.rlim_max : 0;
    EXPECT(setrlimit(RLIMIT_AS, &limit) == 0);
}

static unsigned int ran;

static void count(struct rcu_head *head)
{
    (void)head;
    rtrcu_fetch_add(&ran, 1);
}

/* A handle's thread is created as soon as that is possible. */
static void test_callbacks(void)
{
    static struct rcu_head head;
    let_the_kernel_have_memory(false);
    EXPECT(create_call_rcu_data(0, -1) == NULL && errno == ENOMEM);
    call_rcu(&head, count);
    let_the_kernel_have_memory(true);
    rcu_barrier();
    EXPECT(rtrcu_load_relaxed(&ran) == 1);
}

static void count_deferred(void *p)
{
    rtrcu_fetch_add((unsigned int *)p, 1);
}

/* If malloc() refuses memory for a deferred function, the call waits. */
static void test_defer(void)
{
    EXPECT(rcu_defer_register_thread() == 0);
    let_the_kernel_have_memory(false);
    for (int i = 0; i < DEFERRED; i++)
        defer_rcu(count_deferred, &ran);
    let_the_kernel_have_memory(true);
    rcu_defer_barrier();
    EXPECT(rtrcu_load_relaxed(&ran) == 1 + DEFERRED);
    rcu_defer_unregister_thread();
}

static pthread_barrier_t all_there;

static void *join_when_all_are_there(void *nothing)
{
    pthread_barrier_wait(&all_there);
    pthread_barrier_wait(&all_there);
    rcu_register_thread();
    pthread_barrier_wait(&all_there);
    rcu_unregister_thread();
    return nothing;
}

/* A reader for which grace periods would not wait must not continue: the program ends with a message. */
static void register_without_memory(void)
{
    pthread_t threads[READERS];
    pthread_barrier_init(&all_there, NULL, READERS + 1);
    for (int i = 0; i < READERS; i++)
        EXPECT(pthread_create(&threads[i], NULL, join_when_all_are_there, NULL) == 0);
    pthread_barrier_wait(&all_there);
    let_the_kernel_have_memory(false);
    pthread_barrier_wait(&all_there);
    pthread_barrier_wait(&all_there);
    _exit(0);
}

static void test_readers(void)
{
    char said[1000] = {0};
    int ends[2], status;
    EXPECT(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        register_without_memory();
    }
    close(ends[1]);
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(read(ends[0], said, sizeof(said) - 1) > 0);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    EXPECT(strstr(said, "no memory to register it as a reader"));
    close(ends[0]);
}

int main(void)
{
    expect_ours();
    test_readers();
    rcu_register_thread();
    test_callbacks();
    test_defer();
    rcu_unregister_thread();
    return 0;
}

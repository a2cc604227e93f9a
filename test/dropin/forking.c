/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Forks three levels deep beside readers and callbacks: in each child its one thread reads, waits and queues on.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include HEADER

#include "dropin.h"

static int done;
static unsigned int invoked;

static void count(struct rcu_head *head)
{
    free(head);
    rtrcu_fetch_add(&invoked, 1);
}

static void queue_one(void)
{
    struct rcu_head *head = malloc(sizeof(*head));
    EXPECT(head);
    call_rcu(head, count);
}

static void *reader(void *unused)
{
    (void)unused;
    rcu_register_thread();
    while (!rtrcu_load_relaxed(&done)) {
        rcu_read_lock();
        rcu_read_unlock();
        called.quiescent();
    }
    rcu_unregister_thread();
    return NULL;
}

static void descend(int level)
{
    pthread_t thread;
    done = 0;
    EXPECT(pthread_create(&thread, NULL, reader, NULL) == 0);
    for (int i = 0; i < 50; i++)
        queue_one();
    if (level % 2)
        call_rcu_before_fork();
    pid_t child = level < 3 ? fork() : -1;
    if (level % 2 && child == 0)
        call_rcu_after_fork_child();
    else if (level % 2)
        call_rcu_after_fork_parent();
    if (child == 0) {
        invoked = 0;
        synchronize_rcu();
        queue_one();
        rcu_barrier();
        EXPECT(invoked >= 1);
        descend(level + 1);
        _exit(0);
    }
    int status = 0;
#if QUIESCES
    rcu_thread_offline();
#endif
    EXPECT(child < 0 || (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0));
    rtrcu_store_relaxed(&done, 1);
    pthread_join(thread, NULL);
#if QUIESCES
    rcu_thread_online();
#endif
    synchronize_rcu();
    rcu_barrier();
    EXPECT(level > 0 || invoked == 50);
}

int main(void)
{
    expect_ours();
    rcu_register_thread();
    for (int i = 0; i < 20; i++) {
        invoked = 0;
        descend(0);
    }
    rcu_unregister_thread();
    return 0;
}

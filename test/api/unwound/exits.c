/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program in C with the driver sched: a callback that rcu_barrier() runs ends its thread; the next rcu_barrier()
 * returns. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include <rtrcu/rcu.h>

static int followed;

static void ends_its_thread(struct rcu_head *head)
{
    (void)head;
    pthread_exit(NULL);
}

static void follows(struct rcu_head *head)
{
    (void)head;
    followed = 1;
}

static void *waits(void *unused)
{
    static struct rcu_head ending;
    (void)unused;
    call_rcu(&ending, ends_its_thread);
    rcu_barrier();
    puts("rcu_barrier() has returned in a thread that ended inside it");
    _exit(3);
}

int main(void)
{
    static struct rcu_head following;
    struct rtrcu_config config;
    pthread_t thread;
    rtrcu_config_init(&config);
    config.policy = RTRCU_POLICY_INLINE;
    config.driver = RTRCU_DRIVER_SCHED;
    if (rtrcu_configure(&config) != 0)
        return 2;
    alarm(60); /* turns a hang into a failure */
    if (pthread_create(&thread, NULL, waits, NULL) != 0)
        return 2;
    pthread_join(thread, NULL);
    call_rcu(&following, follows);
    rcu_barrier();
    return followed ? 0 : 4;
}

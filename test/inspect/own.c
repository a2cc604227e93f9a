/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Program with domains of its own: in one of them two sections are open, a thread waits, and three callbacks are
 * queued, until standard input ends. Prints "ready" when all are set up. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include <rtrcu/srcu.h>

DEFINE_SRCU(busy_domain);
DEFINE_SRCU(idle_domain);

static void nothing(struct rcu_head *head)
{
    (void)head;
}

static void *update(void *unused)
{
    synchronize_srcu(&busy_domain);
    return unused;
}

int main(void)
{
    static struct rcu_head heads[4];
    pthread_t updater;
    char byte;

    call_srcu(&busy_domain, &heads[3], nothing);
    srcu_barrier(&busy_domain); /* two callbacks have returned: the one queued above, and the barrier's own */
    int first = srcu_down_read(&busy_domain), second = srcu_down_read(&busy_domain);
    pthread_create(&updater, NULL, update, NULL);
    for (int i = 0; i < 3; i++)
        call_srcu(&busy_domain, &heads[i], nothing);
    puts("ready");
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        ;
    srcu_up_read(&busy_domain, first);
    srcu_up_read(&busy_domain, second);
    pthread_join(updater, NULL);
    srcu_barrier(&busy_domain);
    return 0;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An event loop that sleeps without a timeout, and runs its own callbacks when they are ready: the ready descriptor is
 * one more event of the loop.
 *
 * Another thread sends orders by a pipe.  Each order replaces a setting, and the loop frees the old one after a grace
 * period.  Between two orders the loop sleeps, offline.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <rtrcu/rcu.h>

#define ORDERS 50

struct setting {
    int value;
    struct rcu_head rcu;
};

static struct setting *current;
static int freed, freed_by_loop; /* not atomic: callbacks of one thread run one at a time */
static _Thread_local bool is_loop;

static void setting_free(struct rcu_head *head)
{
    freed++;
    freed_by_loop += is_loop;
    free((char *)head - offsetof(struct setting, rcu));
}

static void apply(int value)
{
    struct setting *fresh = malloc(sizeof(*fresh)), *old = current;
    if (!fresh)
        exit(1);
    fresh->value = value;
    rcu_assign_pointer(current, fresh);
    if (old)
        call_rcu(&old->rcu, setting_free);
}

/* Serve orders until all have arrived and all old settings are freed. */
static void loop(int epoll, int orders, int ready)
{
    while (freed < ORDERS - 1) { /* polled: a daemon frees the settings if the loop gets no CPU for 100 ms */
        struct epoll_event event;
        rcu_thread_offline();
        if (epoll_wait(epoll, &event, 1, 1000) < 0)
            exit(1);
        rcu_thread_online();

        int value;
        if (event.data.fd == orders && read(orders, &value, sizeof(value)) == sizeof(value))
            apply(value);
        else if (event.data.fd == ready)
            rcu_process_callbacks(0);
    }
}

static void *send_orders(void *pipe_end)
{
    for (int value = 0; value < ORDERS; value++) {
        if (write(*(int *)pipe_end, &value, sizeof(value)) != sizeof(value))
            exit(1);
        usleep(2000); /* gives the loop time to sleep between two orders */
    }
    return NULL;
}

static int watch(int epoll, int number)
{
    struct epoll_event interest = {.events = EPOLLIN, .data.fd = number};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, number, &interest);
}

int main(void)
{
    struct rtrcu_config config;
    rtrcu_config_init(&config);
    config.policy = RTRCU_POLICY_INLINE;
    if (rtrcu_configure(&config) != 0 || rtrcu_register_thread(RTRCU_QSBR) != 0)
        return 1;
    is_loop = true;

    int orders[2], epoll = epoll_create1(EPOLL_CLOEXEC), ready = rtrcu_ready_fd();
    if (ready < 0 || pipe(orders) != 0 || watch(epoll, orders[0]) != 0 || watch(epoll, ready) != 0)
        return 1;

    pthread_t sender;
    if (pthread_create(&sender, NULL, send_orders, &orders[1]) != 0)
        return 1;
    loop(epoll, orders[0], ready);
    pthread_join(sender, NULL);

    epoll_ctl(epoll, EPOLL_CTL_DEL, ready, NULL); /* remove the descriptor before it is closed */
    close(ready);
    rtrcu_unregister_thread();
    printf("%d settings replaced, %d freed, %d of them by the loop\n", ORDERS - 1, freed, freed_by_loop);
    free(current);
    return freed == ORDERS - 1 && freed_by_loop > 0 ? 0 : 1;
}

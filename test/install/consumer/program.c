/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The smallest whole use in C: read, replace, free by callback, wait for the callback. */
#include <rtrcu/rcu.h>

#include <stdio.h>
#include <stdlib.h>

struct route {
    struct rcu_head rcu;
    int port;
};

static struct route *current_route;
static int freed;

static void route_free(struct rcu_head *head)
{
    freed++;
    free(head); /* the head is the first member */
}

int main(void)
{
    struct route *old = calloc(1, sizeof *old);
    struct route *next = calloc(1, sizeof *next);
    rcu_assign_pointer(current_route, old);

    rcu_read_lock();
    int port = rcu_dereference(current_route)->port;
    rcu_read_unlock();

    rcu_assign_pointer(current_route, next);
    call_rcu(&old->rcu, route_free);
    rcu_barrier();
    synchronize_rcu();
    printf("freed %d\n", freed + port);
    free(next);
    return freed == 1 ? 0 : 1;
}

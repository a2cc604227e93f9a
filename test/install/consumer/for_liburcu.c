/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A small program for liburcu, as C and as C++; it prints nothing beyond what is needed if it does not run on rtrcu. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <urcu.h>

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

static int runs_on_rtrcu(void)
{
    char line[4096];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof(line), maps))
        found = found || strstr(line, "librtrcu");
    if (maps)
        fclose(maps);
    return found;
}

int main(void)
{
    struct route *old = (struct route *)calloc(1, sizeof *old);
    struct route *next = (struct route *)calloc(1, sizeof *next);
    rcu_register_thread();
    rcu_assign_pointer(current_route, old);

    rcu_read_lock();
    int port = rcu_dereference(current_route)->port;
    rcu_read_unlock();

    old = rcu_xchg_pointer(&current_route, next);
    call_rcu(&old->rcu, route_free);
    rcu_barrier();
    synchronize_rcu();
    rcu_unregister_thread();
    if (runs_on_rtrcu())
        printf("freed %d\n", freed + port);
    free(next);
    return freed == 1 ? 0 : 1;
}

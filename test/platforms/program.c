/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Three readers during 2,000 updates: no reader may see a node whose callback has run, and each callback runs once. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <rtrcu/rcu.h>

#define READERS 3
#define UPDATES 2000

struct node {
    struct rcu_head head;
    int value; /* -1 once its callback has run */
};

static struct node *current;
static int seen_late, freed, stop; /* atomic */

static void free_node(struct rcu_head *head)
{
    struct node *node = (struct node *)head;
    node->value = -1;
    rtrcu_fetch_add(&freed, 1);
    free(node);
}

static void *read_until_stopped(void *nothing)
{
    rcu_register_thread();
    while (!rtrcu_load_relaxed(&stop)) {
        rcu_read_lock();
        const struct node *node = rcu_dereference(current);
        if (node && node->value < 0)
            rtrcu_store_relaxed(&seen_late, 1);
        rcu_read_unlock();
    }
    rcu_unregister_thread();
    return nothing;
}

int main(void)
{
    pthread_t reader[READERS];
    for (int i = 0; i < READERS; i++)
        pthread_create(&reader[i], NULL, read_until_stopped, NULL);

    rcu_register_thread();
    for (int i = 0; i < UPDATES; i++) {
        struct node *node = malloc(sizeof(*node)), *old = current;
        node->value = i;
        rcu_assign_pointer(current, node);
        if (old)
            call_rcu(&old->head, free_node);
        if (i % 100 == 0)
            synchronize_rcu();
    }
    rcu_barrier();
    rtrcu_store_relaxed(&stop, 1);
    for (int i = 0; i < READERS; i++)
        pthread_join(reader[i], NULL);

    printf("freed %d of %d, %s\n", rtrcu_load_relaxed(&freed), UPDATES - 1,
           rtrcu_load_relaxed(&seen_late) ? "one too early" : "none early");
    return rtrcu_load_relaxed(&freed) != UPDATES - 1 || rtrcu_load_relaxed(&seen_late);
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A plugin that queues a callback and does not wait for it before dlclose(). */
#include <stdlib.h>

#include <rtrcu/rcu.h>

void queue(void);

static void release(struct rcu_head *head)
{
    free(head);
}

void queue(void)
{
    struct rcu_head *head = malloc(sizeof(*head));
    if (head)
        call_rcu(head, release);
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Callbacks without a head in the program's object: a small allocation has it.
 *
 * tested by: test/dropin/servers.c
 */
#include <stdlib.h>

#include "callback/callback.h"

struct deferred {
    struct rcu_head head;
    void (*func)(void *);
    void *p;
};

static void run_deferred(struct rcu_head *head)
{
    struct deferred deferred = *container_of(head, struct deferred, head);
    free(container_of(head, struct deferred, head));
    deferred.func(deferred.p);
}

struct rcu_head *callback_deferred(void (*func)(void *), void *p)
{
    struct deferred *deferred = malloc(sizeof(*deferred));
    if (!deferred)
        return NULL;
    *deferred = (struct deferred){{NULL, run_deferred}, func, p};
    return &deferred->head;
}

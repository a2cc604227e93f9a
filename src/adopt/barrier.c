/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Waiting for callbacks, and callbacks without a head of the program's.
 *
 * tested by: test/dropin/servers.c
 */
#include <stdlib.h>

#include "adopt/adopt.h"

#define MARKERS_HERE 16

/* What one rcu_barrier() waits for. */
struct waiting {
    uint32_t left; /* atomic: futex */
};

struct marker {
    struct rcu_head head;
    struct waiting *waiting;
};

static void reached(struct rcu_head *head)
{
    struct waiting *waiting = container_of(head, struct marker, head)->waiting;
    if (rtrcu_fetch_add(&waiting->left, (uint32_t)-1) == 1)
        plat_futex_wake(&waiting->left, INT32_MAX); /* the waiter may be gone: then nobody waits there */
}

/* Behind what each server has: one marker each.  How many servers there are; more than @room: nothing is queued. */
static uint32_t mark(struct rtrcu_adopted *adopted, struct marker *marker, uint32_t room, struct waiting *waiting)
{
    uint32_t count = 0;
    lock_acquire(&adopted->servers_lock);
    for (struct adopt_server *server = adopted->servers; server; server = server->next)
        count++;
    if (count <= room) {
        rtrcu_store_relaxed(&waiting->left, count);
        for (struct adopt_server *server = adopted->servers; server; server = server->next, marker++) {
            marker->waiting = waiting;
            marker->head.func = reached;
            (void)cbqueue_push(&server->queue, &marker->head, CB_ANYBODY);
        }
    }
    lock_release(&adopted->servers_lock);
    return count;
}

/* Under the lock, so that none is freed meanwhile.  True: all have their thread. */
static bool urge_all(struct rtrcu_adopted *adopted)
{
    bool all_run = true;
    lock_acquire(&adopted->servers_lock);
    for (struct adopt_server *server = adopted->servers; server; server = server->next)
        all_run &= adopt_server_urge(server);
    lock_release(&adopted->servers_lock);
    return all_run;
}

static void wait_for(struct rtrcu_adopted *adopted, struct waiting *waiting)
{
    uint32_t left;
    while ((left = rtrcu_load_acquire(&waiting->left)) != 0) { /* ends when the servers come to their markers */
        bool all_run = urge_all(adopted);
        adopt_rest(adopted, &waiting->left, left, all_run ? PLAT_FOREVER : adopt_tick_ns(adopted));
    }
}

void adopt_barrier(struct rtrcu_adopted *adopted)
{
    struct marker here[MARKERS_HERE], *marker = here;
    struct waiting waiting = {0};
    uint32_t room = MARKERS_HERE, count;
    if (!adopt_may_wait(adopted, "rcu_barrier"))
        return;
    bool was_online = adopt_wait_begin(adopted, "rcu_barrier");
    while ((count = mark(adopted, marker, room, &waiting)) > room) { /* ends when there is memory for as many */
        struct marker *more = malloc(2 * count * sizeof(*more));
        if (!more) {
            adopt_rest(adopted, &adopted->nap, 0, adopt_tick_ns(adopted));
            continue;
        }
        if (marker != here)
            free(marker);
        marker = more;
        room = 2 * count;
    }
    wait_for(adopted, &waiting);
    if (marker != here)
        free(marker);
    adopt_wait_end(adopted, was_online);
}

/* ---- callbacks without a head of the program's ---- */

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

/* Without memory to queue it in, the caller waits; as it would where a ring of its own is full. */
void adopt_defer(struct rtrcu_adopted *adopted, void (*func)(void *), void *p)
{
    struct deferred *deferred = malloc(sizeof(*deferred));
    if (deferred) {
        *deferred = (struct deferred){.func = func, .p = p};
        adopt_server_call(&adopted->ordinary, &deferred->head, run_deferred);
        return;
    }
    adopt_synchronize(adopted, "defer_rcu");
    func(p);
}

/* ---- polling ---- */

uint64_t adopt_start_poll(struct rtrcu_adopted *adopted)
{
    uint64_t cookie = adopt_snap(adopted), before = rtrcu_load_relaxed(&adopted->wanted);
    while (seq_before(before, cookie) && !rtrcu_compare_exchange(&adopted->wanted, &before, cookie))
        ; /* ends when it is no earlier */
    (void)adopt_server_urge(&adopted->ordinary);
    return cookie;
}

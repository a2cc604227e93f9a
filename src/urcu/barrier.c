/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* rcu_barrier() of a flavour, and its polled cookies.
 *
 * tested by: test/dropin/servers.c
 */
#include <stdlib.h>

#include "urcu/urcu.h"

struct marker {
    struct rcu_head head;
    struct waiting *waiting;
};

/* State of one rcu_barrier().  In allocated memory, since a fork's child may have the markers in its queues, but not
 * the calling thread.  Such a child never frees the state. */
struct waiting {
    uint32_t left;  /* atomic: futex: number of markers not reached yet */
    uint32_t users; /* atomic: number of users: markers that have not run, and the caller */
    struct marker marker[];
};

static void put_waiting(struct waiting *waiting)
{
    if (rtrcu_fetch_add(&waiting->users, (uint32_t)-1) == 1)
        free(waiting);
}

static void reached(struct rcu_head *head)
{
    struct waiting *waiting = container_of(head, struct marker, head)->waiting;
    if (rtrcu_fetch_add(&waiting->left, (uint32_t)-1) == 1)
        plat_futex_wake(&waiting->left, INT32_MAX);
    put_waiting(waiting);
}

/* Number of servers.  Under the lock. */
static uint32_t count_servers(const struct rtrcu_adopted *adopted)
{
    uint32_t count = 0;
    for (struct adopt_server *server = adopted->servers; server; server = server->next)
        count++;
    return count;
}

/* Append one marker to each server's queue.  Under the lock. */
static void queue_markers(struct rtrcu_adopted *adopted, struct waiting *waiting)
{
    struct marker *marker = waiting->marker;
    for (struct adopt_server *server = adopted->servers; server; server = server->next, marker++) {
        marker->waiting = waiting;
        marker->head.func = reached;
        (void)cbqueue_push(&server->queue, &marker->head, CB_ANYBODY);
    }
}

/* Queue markers if @waiting is not NULL and has room for all servers, else queue nothing.  Returns the number of
 * servers. */
static uint32_t mark(struct rtrcu_adopted *adopted, struct waiting *waiting, uint32_t room)
{
    lock_acquire(&adopted->servers_lock);
    uint32_t count = count_servers(adopted);
    if (waiting && count <= room) {
        rtrcu_store_relaxed(&waiting->left, count);
        rtrcu_store_relaxed(&waiting->users, count + 1);
        queue_markers(adopted, waiting);
    }

    lock_release(&adopted->servers_lock);
    return count;
}

static struct waiting *mark_all(struct rtrcu_adopted *adopted)
{
    struct waiting *waiting = NULL;
    uint32_t room = 0, count;
    while ((count = mark(adopted, waiting, room)) > room || !waiting) { /* ends when memory suffices */
        free(waiting);
        room = 2 * count;
        waiting = malloc(sizeof(*waiting) + room * sizeof(struct marker));
        if (!waiting)
            urcu_sleep_on(adopted, &adopted->nap, 0, urcu_tick_ns(adopted));
    }
    return waiting;
}

/* Wake all servers, and create threads for those that have none.  Under the lock, so that no server is freed meanwhile.
 * True: all have a thread. */
static bool urge_all(struct rtrcu_adopted *adopted)
{
    bool all_run = true;
    lock_acquire(&adopted->servers_lock);
    for (struct adopt_server *server = adopted->servers; server; server = server->next)
        all_run &= urcu_server_urge(server);
    lock_release(&adopted->servers_lock);
    return all_run;
}

static void wait_for(struct rtrcu_adopted *adopted, struct waiting *waiting)
{
    struct urcu_late late = urcu_late_begin(adopted, "rcu_barrier");
    uint32_t left;

    while ((left = rtrcu_load_acquire(&waiting->left)) != 0) { /* ends when the servers reach their markers */
        bool all_run = urge_all(adopted);                      /* a fork's child must create the threads anew */
        urcu_sleep_on(adopted, &waiting->left, left, all_run ? WORK_PATIENCE_NS : urcu_tick_ns(adopted));
        urcu_report_if_late(adopted, &late, NULL);
    }
}

void urcu_barrier(struct rtrcu_adopted *adopted)
{
    if (!urcu_may_wait(adopted, "rcu_barrier"))
        return;

    bool was_online = urcu_wait_begin(adopted, "rcu_barrier");
    tally_raise(&adopted->barriers);
    struct waiting *waiting = mark_all(adopted);
    wait_for(adopted, waiting);
    tally_lower_if_raised(&adopted->barriers); /* in a fork's child the tally was reset */
    put_waiting(waiting);
    urcu_wait_end(adopted, was_online);
}

/* ---- polling ---- */

uint64_t urcu_start_poll(struct rtrcu_adopted *adopted)
{
    uint64_t cookie = urcu_snap(adopted), before = rtrcu_load_relaxed(&adopted->wanted);

    while (seq_before(before, cookie) && !rtrcu_compare_exchange(&adopted->wanted, &before, cookie))
        ; /* ends when the stored cookie is no earlier than ours */

    (void)urcu_server_urge(&adopted->ordinary);
    return cookie;
}

bool urcu_poll_state(struct rtrcu_adopted *adopted, uint64_t cookie)
{
    if (urcu_reached(adopted, cookie))
        return true;
    if (rtrcu_load_relaxed(&adopted->ordinary.state) == WORK_NONE && !urcu_server_start(&adopted->ordinary))
        complain(&adopted->unserved_polls,
                 "rtrcu: %s: thread %u: poll_state_synchronize_rcu(): no thread can be created that advances the grace"
                 " period (error %d); raise RLIMIT_NPROC, or the limit of memory",
                 adopted->flavour.name, lock_thread_number(), -rtrcu_load_relaxed(&adopted->ordinary.refused));
    return false;
}

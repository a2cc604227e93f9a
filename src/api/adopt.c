/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Entry points of the libraries that replace liburcu's; each is passed the domain of its flavour.
 *
 * tested by: test/dropin/readers.c
 */
#include <errno.h>

#include "api/api.h"

static void on_exit_of_thread(void *adopt)
{
    CALL_SCOPE();
    urcu_thread_exits(adopt);
}

struct rtrcu_adopted *rtrcu_adopt(const struct rtrcu_adopt_flavour *flavour)
{
    api_init();
    urcu_hook_exits(&rtrcu_domain.urcu, on_exit_of_thread);
    struct rtrcu_adopted *adopted = urcu_flavour(&rtrcu_domain.urcu, flavour);
    if (!adopted)
        plat_die("rtrcu: %s: no memory for the data of this flavour\n", flavour->name);
    return adopted;
}

void rtrcu_adopt_register(struct rtrcu_adopted *adopted)
{
    CALL_SCOPE();
    if (!urcu_register(adopted))
        plat_die("rtrcu: thread %u: no memory to register it as a reader\n", lock_thread_number());
}

void rtrcu_adopt_unregister(struct rtrcu_adopted *adopted)
{
    CALL_SCOPE();
    urcu_unregister(adopted);
}

void rtrcu_adopt_wake(struct rtrcu_adopted *adopted)
{
    urcu_wake_sleeper(adopted);
}

void rtrcu_adopt_offline(struct rtrcu_adopted *adopted)
{
    urcu_offline(adopted);
}

void rtrcu_adopt_online(struct rtrcu_adopted *adopted)
{
    urcu_online(adopted);
}

/* ---- waiting ---- */

void rtrcu_adopt_synchronize(struct rtrcu_adopted *adopted)
{
    CALL_SCOPE();
    urcu_synchronize(adopted, "synchronize_rcu");
}

uint64_t rtrcu_adopt_start_poll(struct rtrcu_adopted *adopted)
{
    CALL_SCOPE();
    return urcu_start_poll(adopted);
}

bool rtrcu_adopt_poll_state(struct rtrcu_adopted *adopted, uint64_t cookie)
{
    CALL_SCOPE();
    return urcu_poll_state(adopted, cookie);
}

void rtrcu_adopt_barrier(struct rtrcu_adopted *adopted)
{
    CALL_SCOPE();
    urcu_barrier(adopted);
}

/* ---- callbacks ---- */

void rtrcu_adopt_call(struct rtrcu_adopted *adopted, struct rcu_head *head, rcu_callback_t func)
{
    CALL_SCOPE();
    urcu_call(adopted, head, func);
}

void rtrcu_adopt_defer(struct rtrcu_adopted *adopted, void (*func)(void *), void *p)
{
    CALL_SCOPE();
    urcu_defer(adopted, func, p);
}

void rtrcu_adopt_defer_barrier(struct rtrcu_adopted *adopted)
{
    CALL_SCOPE();
    urcu_defer_barrier(adopted);
}

void rtrcu_adopt_defer_barrier_own(struct rtrcu_adopted *adopted)
{
    CALL_SCOPE();
    urcu_defer_barrier_own(adopted);
}

void rtrcu_adopt_defer_leave(struct rtrcu_adopted *adopted)
{
    CALL_SCOPE();
    urcu_defer_barrier_own(adopted);
    urcu_ring_leave(adopted);
}

static int answer(int error)
{
    if (error)
        errno = -error;
    return error;
}

struct adopt_server *rtrcu_adopt_server_create(struct rtrcu_adopted *adopted, unsigned long flags, int cpu)
{
    CALL_SCOPE();
    struct adopt_server *server = urcu_server_create(adopted, flags, cpu);
    if (!server)
        errno = ENOMEM;
    return server;
}

void rtrcu_adopt_server_free(struct rtrcu_adopted *adopted, struct adopt_server *server)
{
    CALL_SCOPE();
    bool was_online = urcu_wait_begin(adopted, "call_rcu_data_free");
    urcu_server_free(adopted, server);
    urcu_wait_end(adopted, was_online);
}

struct adopt_server *rtrcu_adopt_server_default(struct rtrcu_adopted *adopted)
{
    CALL_SCOPE();
    return urcu_server_default(adopted);
}

struct adopt_server *rtrcu_adopt_server_in_use(struct rtrcu_adopted *adopted)
{
    return urcu_server_in_use(adopted);
}

struct adopt_server *rtrcu_adopt_server_of_cpu(struct rtrcu_adopted *adopted, int cpu)
{
    return urcu_server_of_cpu(adopted, cpu);
}

int rtrcu_adopt_server_set_cpu(struct rtrcu_adopted *adopted, int cpu, struct adopt_server *server)
{
    CALL_SCOPE();
    return answer(urcu_server_set_cpu(adopted, cpu, server));
}

struct adopt_server *rtrcu_adopt_server_of_thread(struct rtrcu_adopted *adopted)
{
    return urcu_server_of_thread(adopted);
}

void rtrcu_adopt_server_set_thread(struct rtrcu_adopted *adopted, struct adopt_server *server)
{
    CALL_SCOPE();
    if (!urcu_server_set_thread(adopted, server))
        plat_die("rtrcu: thread %u: no memory to register it as a reader\n", lock_thread_number());
}

unsigned long rtrcu_adopt_server_thread(struct rtrcu_adopted *adopted, struct adopt_server *server)
{
    CALL_SCOPE();
    (void)adopted;
    return urcu_server_thread(server);
}

int rtrcu_adopt_servers_create_all(struct rtrcu_adopted *adopted, unsigned long flags)
{
    CALL_SCOPE();
    return answer(urcu_servers_create_all(adopted, flags));
}

void rtrcu_adopt_servers_free_all(struct rtrcu_adopted *adopted)
{
    CALL_SCOPE();
    urcu_servers_free_all(adopted);
}

bool rtrcu_adopt_has_cpu_servers(const struct rtrcu_adopted *adopted)
{
    return urcu_has_cpu_servers(adopted);
}

/* ---- around a fork ---- */

void rtrcu_adopt_before_fork(struct rtrcu_adopted *adopted)
{
    CALL_SCOPE();
    urcu_fork_begins(adopted);
}

void rtrcu_adopt_after_fork_parent(struct rtrcu_adopted *adopted)
{
    CALL_SCOPE();
    urcu_fork_ends(adopted, false);
}

void rtrcu_adopt_after_fork_child(struct rtrcu_adopted *adopted)
{
    CALL_SCOPE();
    urcu_fork_ends(adopted, true);
}

void rtrcu_adopt_hooks(struct rtrcu_adopted *adopted, struct rtrcu_fork_hooks *hooks, bool add)
{
    CALL_SCOPE();
    urcu_hooks(adopted, hooks, add);
}

void rtrcu_adopt_say(struct rtrcu_adopted *adopted)
{
    urcu_print(adopted);
}

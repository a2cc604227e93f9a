/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The choice of the server that a call_rcu() uses: the thread's, its CPU's, or the default one.
 *
 * tested by: test/dropin/servers.c
 */
#include "urcu/urcu.h"

static struct adopt_server *in_use(struct rtrcu_adopted *adopted, bool cpus_too)
{
    const struct rtrcu_adopted_reader *self = urcu_self(adopted);
    if (self && self->server)
        return self->server;

    struct adopt_server *server = cpus_too ? urcu_server_of_cpu(adopted, plat_cpu_current()) : NULL;
    return server ? server : &adopted->ordinary;
}

struct adopt_server *urcu_server_in_use(struct rtrcu_adopted *adopted)
{
    return in_use(adopted, true);
}

/* Do grace periods wait for the calling thread: is it registered, and inside? */
static bool is_waited_for(const struct rtrcu_adopted *adopted)
{
    const struct rtrcu_adopted_reader *self = urcu_self(adopted);
    return self && self->record && urcu_is_inside(adopted, rtrcu_load_relaxed(&self->word));
}

/* Queues to a CPU's server only if a grace period would wait for the calling thread, since such a server is freed after
 * a grace period. */
void urcu_call(struct rtrcu_adopted *adopted, struct rcu_head *head, rcu_callback_t func)
{
    urcu_server_call(in_use(adopted, is_waited_for(adopted)), head, func);
}

/* Replace @before by @server, and update the count of CPUs that have one.  False: the CPU has another server by now. */
static bool change(struct rtrcu_adopted *adopted, int cpu, struct adopt_server *before, struct adopt_server *server)
{
    bool changed = rtrcu_compare_exchange(&adopted->of_cpu[cpu], &before, server);
    if (changed)
        rtrcu_fetch_add(&adopted->cpu_servers, server ? 1 : (uint32_t)-1);
    return changed;
}

/* Remove the server of @cpu.  Only the thread that removes it may free it.  NULL: the CPU has none, or another thread
 * has removed it first. */
static struct adopt_server *take_from_cpu(struct rtrcu_adopted *adopted, int cpu)
{
    struct adopt_server *server = rtrcu_load_acquire(&adopted->of_cpu[cpu]);
    return server && change(adopted, cpu, server, NULL) ? server : NULL;
}

int urcu_server_set_cpu(struct rtrcu_adopted *adopted, int cpu, struct adopt_server *server)
{
    if (cpu < 0 || cpu >= plat_cpus_configured())
        return -EINVAL;

    if (!server) {
        (void)take_from_cpu(adopted, cpu);
        return 0;
    }

    return change(adopted, cpu, NULL, server) ? 0 : -EEXIST;
}

/* Free a server that is not needed, since another thread has set a server for the CPU first.  A barrier may have put a
 * marker into @server, so the calling thread waits for readers. */
static void free_spare(struct rtrcu_adopted *adopted, struct adopt_server *server)
{
    bool was_online = urcu_wait_begin(adopted, "create_all_cpu_call_rcu_data");
    urcu_server_free(adopted, server);
    urcu_wait_end(adopted, was_online);
}

int urcu_servers_create_all(struct rtrcu_adopted *adopted, unsigned long flags)
{
    for (int cpu = 0; cpu < plat_cpus_configured(); cpu++) {
        if (rtrcu_load_acquire(&adopted->of_cpu[cpu]))
            continue;

        struct adopt_server *server = urcu_server_create(adopted, flags, cpu);
        if (!server)
            return -ENOMEM;
        if (urcu_server_set_cpu(adopted, cpu, server) != 0)
            free_spare(adopted, server);
    }
    return 0;
}

/* Frees the servers after a grace period: a thread finds its CPU's server, and queues to it, inside one read-side
 * section. */
void urcu_servers_free_all(struct rtrcu_adopted *adopted)
{
    struct adopt_server *gone[PLAT_CPU_MAX];
    int count = 0;

    for (int cpu = 0; cpu < plat_cpus_configured(); cpu++) {
        gone[count] = take_from_cpu(adopted, cpu);
        count += gone[count] != NULL;
    }

    if (count == 0)
        return;

    bool was_online = urcu_wait_begin(adopted, "free_all_cpu_call_rcu_data");
    urcu_wait(adopted, urcu_snap(adopted));
    for (int i = 0; i < count; i++)
        urcu_server_free(adopted, gone[i]);
    urcu_wait_end(adopted, was_online);
}

struct adopt_server *urcu_server_default(struct rtrcu_adopted *adopted)
{
    (void)urcu_server_start(&adopted->ordinary);
    return &adopted->ordinary;
}

struct adopt_server *urcu_server_of_cpu(struct rtrcu_adopted *adopted, int cpu)
{
    return cpu >= 0 && cpu < PLAT_CPU_MAX ? rtrcu_load_acquire(&adopted->of_cpu[cpu]) : NULL;
}

struct adopt_server *urcu_server_of_thread(struct rtrcu_adopted *adopted)
{
    const struct rtrcu_adopted_reader *self = urcu_self(adopted);
    return self ? self->server : NULL;
}

bool urcu_server_set_thread(struct rtrcu_adopted *adopted, struct adopt_server *server)
{
    if (!urcu_self(adopted) && !urcu_register(adopted))
        return false;
    urcu_self(adopted)->server = server;
    return true;
}

void urcu_servers_recount(struct rtrcu_adopted *adopted)
{
    uint32_t count = 0;
    for (int cpu = 0; cpu < PLAT_CPU_MAX; cpu++)
        count += rtrcu_load_relaxed(&adopted->of_cpu[cpu]) != NULL;
    rtrcu_store_relaxed(&adopted->cpu_servers, count);
}

bool urcu_has_cpu_servers(const struct rtrcu_adopted *adopted)
{
    return rtrcu_load_relaxed(&adopted->cpu_servers) != 0;
}

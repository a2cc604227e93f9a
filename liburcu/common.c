/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The functions of a flavour's library for updaters, under the flavour's names. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"

static struct rtrcu_adopted *domain;

struct rtrcu_adopted *shim_domain(void)
{
    struct rtrcu_adopted *own = rtrcu_load_acquire(&domain);
    if (likely(own))
        return own;
    own = rtrcu_adopt(&shim_flavour);
    rtrcu_store_release(&domain, own);
    return own;
}

#define TEXT(name) TEXT_OF(name)
#define TEXT_OF(name) #name

static bool same_folder(const char *left, const char *right)
{
    size_t length = strlen(left);
    while (length > 0 && left[length - 1] != '/')
        length--;
    return strncmp(left, right, length) == 0 && !strchr(right + length, '/');
}

/* Print a message if another library, such as a copy of liburcu under another name, was loaded first with these names:
 * the whole process uses the first definition.  The flavour works then, but not on this library. */
static void say_whose_names(void)
{
    Dl_info own, first;
    const ElfW(Sym) *symbol = NULL;
    const void *found = dlsym(RTLD_DEFAULT, TEXT(NAME(synchronize_rcu)));
    if (!found || !dladdr1(found, &first, (void **)&symbol, RTLD_DL_SYMENT) || !symbol || !dladdr(&domain, &own))
        return;
    if (symbol->st_shndx == SHN_UNDEF || same_folder(own.dli_fname, first.dli_fname))
        return; /* the program takes the address of another object's function, and so defines the symbol itself */
    fprintf(stderr,
            "rtrcu: %s: %s was loaded before %s and defines the same names; the program uses the library loaded first:"
            " load only one of them\n",
            shim_flavour.name, first.dli_fname, own.dli_fname);
}

__attribute__((constructor)) static void begin(void)
{
    (void)shim_domain();
    shim_complete_copy();
    say_whose_names();
}

__attribute__((destructor)) static void end(void)
{
    if (secure_getenv("DROPIN_COUNTERS"))
        rtrcu_adopt_say(shim_domain());
}

void NAME(register_thread)(void)
{
    rtrcu_adopt_register(shim_domain());
}

void NAME(synchronize_rcu)(void)
{
    rtrcu_adopt_synchronize(shim_domain());
}

void NAME(barrier)(void)
{
    rtrcu_adopt_barrier(shim_domain());
}

struct rtrcu_flavor_cookie NAME(start_poll_synchronize_rcu)(void)
{
    return (struct rtrcu_flavor_cookie){rtrcu_adopt_start_poll(shim_domain())};
}

bool NAME(poll_state_synchronize_rcu)(struct rtrcu_flavor_cookie state)
{
    return rtrcu_adopt_poll_state(shim_domain(), state.grace_period_id);
}

/* ---- callbacks ---- */

/* Queues @head.  If a CPU has a server of its own, the call is in a section, which keeps that server from being
 * freed. */
void NAME(call_rcu)(struct rcu_head *head, rcu_callback_t func)
{
    struct rtrcu_adopted *own = shim_domain();
    bool enters = unlikely(rtrcu_adopt_has_cpu_servers(own));
    if (enters)
        NAME(read_lock)();
    rtrcu_adopt_call(own, head, func);
    if (enters)
        NAME(read_unlock)();
}

EXPORT struct adopt_server *NAME(create_call_rcu_data)(unsigned long flags, int cpu);
struct adopt_server *NAME(create_call_rcu_data)(unsigned long flags, int cpu)
{
    return rtrcu_adopt_server_create(shim_domain(), flags, cpu);
}

EXPORT void NAME(call_rcu_data_free)(struct adopt_server *server);
void NAME(call_rcu_data_free)(struct adopt_server *server)
{
    rtrcu_adopt_server_free(shim_domain(), server);
}

EXPORT struct adopt_server *NAME(get_default_call_rcu_data)(void);
struct adopt_server *NAME(get_default_call_rcu_data)(void)
{
    return rtrcu_adopt_server_default(shim_domain());
}

EXPORT struct adopt_server *NAME(get_call_rcu_data)(void);
struct adopt_server *NAME(get_call_rcu_data)(void)
{
    return rtrcu_adopt_server_in_use(shim_domain());
}

EXPORT struct adopt_server *NAME(get_cpu_call_rcu_data)(int cpu);
struct adopt_server *NAME(get_cpu_call_rcu_data)(int cpu)
{
    return rtrcu_adopt_server_of_cpu(shim_domain(), cpu);
}

EXPORT int NAME(set_cpu_call_rcu_data)(int cpu, struct adopt_server *server);
int NAME(set_cpu_call_rcu_data)(int cpu, struct adopt_server *server)
{
    return rtrcu_adopt_server_set_cpu(shim_domain(), cpu, server);
}

EXPORT struct adopt_server *NAME(get_thread_call_rcu_data)(void);
struct adopt_server *NAME(get_thread_call_rcu_data)(void)
{
    return rtrcu_adopt_server_of_thread(shim_domain());
}

EXPORT void NAME(set_thread_call_rcu_data)(struct adopt_server *server);
void NAME(set_thread_call_rcu_data)(struct adopt_server *server)
{
    rtrcu_adopt_server_set_thread(shim_domain(), server);
}

EXPORT pthread_t NAME(get_call_rcu_thread)(struct adopt_server *server);
pthread_t NAME(get_call_rcu_thread)(struct adopt_server *server)
{
    return (pthread_t)rtrcu_adopt_server_thread(shim_domain(), server);
}

EXPORT int NAME(create_all_cpu_call_rcu_data)(unsigned long flags);
int NAME(create_all_cpu_call_rcu_data)(unsigned long flags)
{
    return rtrcu_adopt_servers_create_all(shim_domain(), flags);
}

EXPORT void NAME(free_all_cpu_call_rcu_data)(void);
void NAME(free_all_cpu_call_rcu_data)(void)
{
    rtrcu_adopt_servers_free_all(shim_domain());
}

/* ---- callbacks without a head ---- */

struct adopt_ring **shim_ring(void)
{
    static __thread struct adopt_ring *ring;
    return &ring;
}

void NAME(defer_rcu)(void (*func)(void *), void *p)
{
    rtrcu_adopt_defer(shim_domain(), func, p);
}

/* Does nothing: a thread's first deferred function creates its ring. */
EXPORT int NAME(defer_register_thread)(void);
int NAME(defer_register_thread)(void)
{
    return 0;
}

EXPORT void NAME(defer_barrier)(void);
void NAME(defer_barrier)(void)
{
    rtrcu_adopt_defer_barrier(shim_domain());
}

EXPORT void NAME(defer_barrier_thread)(void);
void NAME(defer_barrier_thread)(void)
{
    rtrcu_adopt_defer_barrier_own(shim_domain());
}

EXPORT void NAME(defer_unregister_thread)(void);
void NAME(defer_unregister_thread)(void)
{
    rtrcu_adopt_defer_leave(shim_domain());
}

EXPORT void NAME(defer_exit)(void);
void NAME(defer_exit)(void)
{
}

/* ---- fork ---- */

void NAME(call_rcu_before_fork)(void)
{
    rtrcu_adopt_before_fork(shim_domain());
}

void NAME(call_rcu_after_fork_parent)(void)
{
    rtrcu_adopt_after_fork_parent(shim_domain());
}

void NAME(call_rcu_after_fork_child)(void)
{
    rtrcu_adopt_after_fork_child(shim_domain());
}

void NAME(register_rculfhash_atfork)(struct rtrcu_fork_hooks *hooks)
{
    rtrcu_adopt_hooks(shim_domain(), hooks, true);
}

void NAME(unregister_rculfhash_atfork)(struct rtrcu_fork_hooks *hooks)
{
    rtrcu_adopt_hooks(shim_domain(), hooks, false);
}

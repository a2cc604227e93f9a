/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The native domain as a flavour for liburcu-cds, and out-of-line versions of inline functions for other languages.
 *
 * tested by: test/dropin/native.c
 */
#include <errno.h>

#include <rtrcu/detail/flavor.h>
#include <rtrcu/urcu.h>

#include "api/api.h"

/* ---- out of line ---- */

void rtrcu_read_lock(void)
{
    rcu_read_lock();
}

void rtrcu_read_unlock(void)
{
    rcu_read_unlock();
}

bool rtrcu_read_lock_held(void)
{
    return rcu_read_lock_held();
}

void rtrcu_quiescent_state(void)
{
    rcu_quiescent_state();
}

/* Weak: a program may contain liburcu's own definitions, which do the same. */
__attribute__((weak)) void *rcu_dereference_sym(void *p)
{
    return p;
}

__attribute__((weak)) void *rcu_dereference_sym2(void **p)
{
    return rtrcu_load_consume(p);
}

__attribute__((weak)) void *rcu_set_pointer_sym(void **p, void *v)
{
    rtrcu_store_release(p, v);
    return v;
}

__attribute__((weak)) void *rcu_xchg_pointer_sym(void **p, void *v)
{
    return rtrcu_exchange(p, v);
}

__attribute__((weak)) void *rcu_cmpxchg_pointer_sym(void **p, void *old, void *fresh)
{
    (void)rtrcu_compare_exchange(p, &old, fresh);
    return old;
}

/* ---- callbacks without a head ---- */

void rtrcu_defer(void (*func)(void *), void *p)
{
    if (rtrcu_retire(p, func) == -ENOMEM) {
        rtrcu_synchronize();
        func(p);
    }
    api_bound_deferred();
}

/* ---- forks, while a hash table resizes by itself ---- */

/* Make the worker of liburcu's hash tables pause.  Not inside a section: the worker may wait for a grace period that
 * waits for the forking thread.  Several threads may be about to fork: each records whether it has requested a
 * pause. */
static void before_fork(void)
{
    struct domain_hooks *own = &rtrcu_domain.hooks;
    if (rtrcu_load_acquire(&own->count) == 0 || rcu_read_lock_held())
        return;

    const struct rtrcu_fork_hooks *hooks = rtrcu_load_acquire(&own->hooks);
    reader_self_set(READER_STATE_HASH_PAUSED);
    hooks->before_fork(hooks->priv);
}

static void after_fork(bool child)
{
    if (!reader_self_is(READER_STATE_HASH_PAUSED))
        return;

    reader_self_clear(READER_STATE_HASH_PAUSED);
    const struct rtrcu_fork_hooks *hooks = rtrcu_load_acquire(&rtrcu_domain.hooks.hooks);

    if (child)
        hooks->after_fork_child(hooks->priv);
    else
        hooks->after_fork_parent(hooks->priv);
}

static void after_fork_parent(void)
{
    after_fork(false);
}

static void after_fork_child(void)
{
    after_fork(true);
}

/* Register the fork hooks of liburcu's hash tables: one set for all tables.  They run before the library's own
 * handlers, which were registered first. */
static void add_hooks(struct rtrcu_fork_hooks *hooks)
{
    CALL_SCOPE();
    struct domain_hooks *own = &rtrcu_domain.hooks;
    api_init();

    lock_acquire(&rtrcu_domain.config_lock);
    uint32_t count = rtrcu_load_relaxed(&own->count);
    if (count == 0)
        rtrcu_store_release(&own->hooks, hooks);
    rtrcu_store_release(&own->count, count + 1);
    lock_release(&rtrcu_domain.config_lock);

    if (!rtrcu_exchange(&own->armed, 1))
        plat_fork_hooks(before_fork, after_fork_parent, after_fork_child);
}

/* Subtract a hash table from the count.  The set of hooks remains, for a fork in progress. */
static void remove_hooks(struct rtrcu_fork_hooks *hooks)
{
    CALL_SCOPE();
    struct domain_hooks *own = &rtrcu_domain.hooks;
    (void)hooks;

    lock_acquire(&rtrcu_domain.config_lock);
    uint32_t count = rtrcu_load_relaxed(&own->count);
    if (count > 0)
        rtrcu_store_release(&own->count, count - 1);
    lock_release(&rtrcu_domain.config_lock);
}

/* ---- the table ---- */

static int read_ongoing(void)
{
    return rcu_read_ongoing();
}

static void register_thread(void)
{
    (void)rtrcu_register_thread(0);
}

static void unregister_thread(void)
{
    (void)rtrcu_unregister_thread();
}

static struct rtrcu_flavor_cookie start_poll(void)
{
    return (struct rtrcu_flavor_cookie){rtrcu_start_poll()};
}

static bool poll_state(struct rtrcu_flavor_cookie cookie)
{
    return rtrcu_poll_state(cookie.grace_period_id);
}

struct rcu_flavor_struct {
    struct rtrcu_flavor_0_15 table;
};

const struct rcu_flavor_struct rtrcu_flavor = {.table = {
                                                   .first =
                                                       {
                                                           .read_lock = rtrcu_read_lock,
                                                           .read_unlock = rtrcu_read_unlock,
                                                           .read_ongoing = read_ongoing,
                                                           .read_quiescent_state = rtrcu_quiescent_state,
                                                           .update_call_rcu = rtrcu_call,
                                                           .update_synchronize_rcu = rtrcu_synchronize,
                                                           .update_defer_rcu = rtrcu_defer,
                                                           .thread_offline = rtrcu_thread_offline,
                                                           .thread_online = rtrcu_thread_online,
                                                           .register_thread = register_thread,
                                                           .unregister_thread = unregister_thread,
                                                           .barrier = rtrcu_barrier,
                                                           .register_rculfhash_atfork = add_hooks,
                                                           .unregister_rculfhash_atfork = remove_hooks,
                                                       },
                                                   .update_start_poll_synchronize_rcu = start_poll,
                                                   .update_poll_state_synchronize_rcu = poll_state,
                                               }};

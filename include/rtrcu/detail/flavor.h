/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* liburcu's struct rcu_flavor_struct, through which liburcu-cds uses a flavour, with the layout that its ABI fixes. */
#ifndef RTRCU_DETAIL_FLAVOR_H
#define RTRCU_DETAIL_FLAVOR_H

#include <stdbool.h>

#include <rtrcu/rcu.h>

/* Hooks of the hash table around a fork.  @room urcu, api */
struct rtrcu_fork_hooks {
    void (*before_fork)(void *priv);
    void (*after_fork_parent)(void *priv);
    void (*after_fork_child)(void *priv);
    void *priv;
};

/* Value: a cookie of liburcu's polling functions. */
struct rtrcu_flavor_cookie {
    unsigned long grace_period_id;
};

/* The first part of the table.  @room api */
struct rtrcu_flavor {
    void (*read_lock)(void);
    void (*read_unlock)(void);
    int (*read_ongoing)(void);
    void (*read_quiescent_state)(void);
    void (*update_call_rcu)(struct rcu_head *head, rcu_callback_t func);
    void (*update_synchronize_rcu)(void);
    void (*update_defer_rcu)(void (*func)(void *), void *p);
    void (*thread_offline)(void);
    void (*thread_online)(void);
    void (*register_thread)(void);
    void (*unregister_thread)(void);
    void (*barrier)(void);
    void (*register_rculfhash_atfork)(struct rtrcu_fork_hooks *hooks);
    void (*unregister_rculfhash_atfork)(struct rtrcu_fork_hooks *hooks);
};

/* Since 0.15; a program built for an older version knows only the first part.  @room api */
struct rtrcu_flavor_0_15 {
    struct rtrcu_flavor first;
    struct rtrcu_flavor_cookie (*update_start_poll_synchronize_rcu)(void);
    bool (*update_poll_state_synchronize_rcu)(struct rtrcu_flavor_cookie cookie);
};

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A flavour as liburcu-cds sees it, with the fields that the installed liburcu's headers declare. */
#ifndef RTRCU_LIBURCU_FLAVOR_H
#define RTRCU_LIBURCU_FLAVOR_H

#include <stdbool.h>

#include <rtrcu/detail/head.h>
#include <urcu/urcu-poll.h>

/* If liburcu's own header of that name exists, its table has the two functions that 0.13's lacks. */
#if __has_include_next(<urcu/urcu-poll.h>)
#define RTRCU_LIBURCU_POLLS
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Hooks of a hash table around a fork. */
struct urcu_atfork {
    void (*before_fork)(void *priv);
    void (*after_fork_parent)(void *priv);
    void (*after_fork_child)(void *priv);
    void *priv;
};

struct rcu_flavor_struct {
    void (*read_lock)(void);
    void (*read_unlock)(void);
    int (*read_ongoing)(void);
    void (*read_quiescent_state)(void);
    void (*update_call_rcu)(struct rcu_head *head, void (*func)(struct rcu_head *head));
    void (*update_synchronize_rcu)(void);
    void (*update_defer_rcu)(void (*func)(void *p), void *p);
    void (*thread_offline)(void);
    void (*thread_online)(void);
    void (*register_thread)(void);
    void (*unregister_thread)(void);
    void (*barrier)(void);
    void (*register_rculfhash_atfork)(struct urcu_atfork *atfork);
    void (*unregister_rculfhash_atfork)(struct urcu_atfork *atfork);
#ifdef RTRCU_LIBURCU_POLLS
    struct urcu_gp_poll_state (*update_start_poll_synchronize_rcu)(void);
    bool (*update_poll_state_synchronize_rcu)(struct urcu_gp_poll_state state);
#endif
};

#ifdef RTRCU_LIBURCU_POLLS
#define RTRCU_LIBURCU_POLL_CALLS                                                                                       \
    .update_start_poll_synchronize_rcu = start_poll_synchronize_rcu,                                                   \
    .update_poll_state_synchronize_rcu = poll_state_synchronize_rcu,
#else
#define RTRCU_LIBURCU_POLL_CALLS
#endif

/* Define a flavour of the program's own, from the short names. */
#define DEFINE_RCU_FLAVOR(x)                                                                                           \
    const struct rcu_flavor_struct x = {.read_lock = rcu_read_lock,                                                    \
                                        .read_unlock = rcu_read_unlock,                                                \
                                        .read_ongoing = rcu_read_ongoing,                                              \
                                        .read_quiescent_state = rcu_quiescent_state,                                   \
                                        .update_call_rcu = call_rcu,                                                   \
                                        .update_synchronize_rcu = synchronize_rcu,                                     \
                                        .update_defer_rcu = defer_rcu,                                                 \
                                        .thread_offline = rcu_thread_offline,                                          \
                                        .thread_online = rcu_thread_online,                                            \
                                        .register_thread = rcu_register_thread,                                        \
                                        .unregister_thread = rcu_unregister_thread,                                    \
                                        .barrier = rcu_barrier,                                                        \
                                        .register_rculfhash_atfork = urcu_register_rculfhash_atfork,                   \
                                        .unregister_rculfhash_atfork = urcu_unregister_rculfhash_atfork,               \
                                        RTRCU_LIBURCU_POLL_CALLS}

#ifdef __cplusplus
}
#endif

#endif

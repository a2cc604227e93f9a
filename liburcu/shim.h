/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the libraries that stand in for liburcu's have in common: names with the flavour's prefix, and the program's
 * view of its data.  FLAVOUR is given by the build: memb, mb, qsbr or bp.
 *
 * All that programs share with a flavour's library is reached through the global offset table: a program that was
 * linked to the data has its own copy of them, and the first of two libraries with the same names has them for both.
 */
#ifndef RTRCU_LIBURCU_SHIM_H
#define RTRCU_LIBURCU_SHIM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rtrcu/detail/adopt.h>

#define SHIM_PASTE(prefix, flavour, name) prefix##flavour##_##name
#define SHIM_NAME(prefix, flavour, name) SHIM_PASTE(prefix, flavour, name)
#define NAME(name) SHIM_NAME(urcu_, FLAVOUR, name)
#define EXPORT __attribute__((visibility("default")))

#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

/* Who sleeps until readers leave has stored this. */
#define SHIM_ASLEEP UINT32_MAX

struct shim_gp {
    uint64_t generation; /* atomic */
    uint32_t futex;      /* atomic */
    uint32_t unused[29];
} __attribute__((aligned(128)));

struct call_rcu_data;

struct shim_poll_state {
    unsigned long grace_period_id;
};

/* liburcu's struct rcu_flavor_struct, by which its hash table reaches a flavour. */
struct shim_flavor {
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
/* Since 0.15; programs that were built for an older one have a copy without. */
struct shim_flavor_0_15 {
    struct shim_flavor first;
    struct shim_poll_state (*update_start_poll_synchronize_rcu)(void);
    bool (*update_poll_state_synchronize_rcu)(struct shim_poll_state state);
};

/* The flavour's domain; made at the first call. */
struct rtrcu_adopted *shim_domain(void);

/* ---- by the flavour's own file: its readers ---- */

extern const struct rtrcu_adopt_flavour shim_flavour;
extern EXPORT struct shim_gp NAME(gp);

EXPORT void NAME(read_lock)(void);
EXPORT void NAME(read_unlock)(void);
EXPORT int NAME(read_ongoing)(void);
void shim_quiescent_state(void);
void shim_thread_offline(void);
void shim_thread_online(void);
void shim_register_thread(void);
void shim_unregister_thread(void);

/* ---- by common.c ---- */

EXPORT void NAME(synchronize_rcu)(void);
EXPORT void NAME(call_rcu)(struct rcu_head *head, rcu_callback_t func);
EXPORT void NAME(barrier)(void);
EXPORT void NAME(call_rcu_before_fork)(void);
EXPORT void NAME(call_rcu_after_fork_parent)(void);
EXPORT void NAME(call_rcu_after_fork_child)(void);
EXPORT void NAME(defer_rcu)(void (*func)(void *), void *p);
EXPORT void NAME(register_rculfhash_atfork)(struct rtrcu_fork_hooks *hooks);
EXPORT void NAME(unregister_rculfhash_atfork)(struct rtrcu_fork_hooks *hooks);
EXPORT struct shim_poll_state NAME(start_poll_synchronize_rcu)(void);
EXPORT bool NAME(poll_state_synchronize_rcu)(struct shim_poll_state state);

/* ---- by table.c or table_0_15.c ---- */

/* clang-format off */
#define SHIM_TABLE                                                                                                     \
    {                                                                                                                  \
        .read_lock = NAME(read_lock),                                                                                  \
        .read_unlock = NAME(read_unlock),                                                                              \
        .read_ongoing = NAME(read_ongoing),                                                                            \
        .read_quiescent_state = shim_quiescent_state,                                                                  \
        .update_call_rcu = NAME(call_rcu),                                                                             \
        .update_synchronize_rcu = NAME(synchronize_rcu),                                                               \
        .update_defer_rcu = NAME(defer_rcu),                                                                           \
        .thread_offline = shim_thread_offline,                                                                         \
        .thread_online = shim_thread_online,                                                                           \
        .register_thread = shim_register_thread,                                                                       \
        .unregister_thread = shim_unregister_thread,                                                                   \
        .barrier = NAME(barrier),                                                                                      \
        .register_rculfhash_atfork = NAME(register_rculfhash_atfork),                                                  \
        .unregister_rculfhash_atfork = NAME(unregister_rculfhash_atfork),                                              \
    }
/* clang-format on */

#endif

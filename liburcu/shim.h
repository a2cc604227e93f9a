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

/* Here they are defined. */
#undef urcu_memb_register_thread
#undef urcu_mb_register_thread
#undef urcu_qsbr_register_thread
#undef urcu_bp_register_thread

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

/* The flavour's domain; made at the first call. */
struct rtrcu_adopted *shim_domain(void);

/* ---- by the flavour's own file: its readers ---- */

extern const struct rtrcu_adopt_flavour shim_flavour;
struct rtrcu_adopted_reader *shim_self(void);
extern EXPORT struct shim_gp NAME(gp);

EXPORT void NAME(read_lock)(void);
EXPORT void NAME(read_unlock)(void);
EXPORT int NAME(read_ongoing)(void);
/* Exported where stock does: qsbr's, and of the last the others' but bp's. */
void NAME(quiescent_state)(void);
void NAME(thread_offline)(void);
void NAME(thread_online)(void);
void NAME(unregister_thread)(void);

/* ---- by common.c ---- */

/* Where the calling thread keeps its ring of deferred functions. */
struct adopt_ring **shim_ring(void);
EXPORT void NAME(register_thread)(void);
EXPORT void NAME(synchronize_rcu)(void);
EXPORT void NAME(call_rcu)(struct rcu_head *head, rcu_callback_t func);
EXPORT void NAME(barrier)(void);
EXPORT void NAME(call_rcu_before_fork)(void);
EXPORT void NAME(call_rcu_after_fork_parent)(void);
EXPORT void NAME(call_rcu_after_fork_child)(void);
EXPORT void NAME(defer_rcu)(void (*func)(void *), void *p);
EXPORT void NAME(register_rculfhash_atfork)(struct rtrcu_fork_hooks *hooks);
EXPORT void NAME(unregister_rculfhash_atfork)(struct rtrcu_fork_hooks *hooks);
EXPORT struct rtrcu_flavor_cookie NAME(start_poll_synchronize_rcu)(void);
EXPORT bool NAME(poll_state_synchronize_rcu)(struct rtrcu_flavor_cookie state);

/* ---- by pointers.c ---- */

EXPORT void *rcu_dereference_sym(void *p);
EXPORT void *rcu_dereference_sym2(void **p);
EXPORT void *rcu_set_pointer_sym(void **p, void *v);
EXPORT void *rcu_xchg_pointer_sym(void **p, void *v);
EXPORT void *rcu_cmpxchg_pointer_sym(void **p, void *old, void *fresh);

/* ---- by table.S and copy.c ---- */

/* The flavour's table; urcu_memb_flavor or its like is its first part. */
extern const struct rtrcu_flavor_0_15 shim_table;
/* Complete the copy of the table that the loader has made in the program. */
void shim_complete_copy(void);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Shared declarations of the libraries that replace liburcu's: names with the flavour's prefix, and the program's view
 * of the flavour's data.  The build defines FLAVOUR: memb, mb, qsbr or bp.
 *
 * Data shared with programs is reached through the global offset table: a program that was linked to such data has its
 * own copy, and of two libraries with the same names both use the first one's.
 */
#ifndef RTRCU_LIBURCU_SHIM_H
#define RTRCU_LIBURCU_SHIM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rtrcu/detail/adopt.h>

/* <rtrcu/rcu.h> makes these names errors; the libraries define them. */
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

/* Value of the futex while a thread sleeps until readers leave. */
#define SHIM_ASLEEP UINT32_MAX

struct shim_gp {
    uint64_t generation; /* atomic */
    uint32_t futex;      /* atomic */
    uint32_t unused[29];
} __attribute__((aligned(128)));

struct call_rcu_data;

/* The flavour's domain, created at the first call. */
struct rtrcu_adopted *shim_domain(void);

/* ---- defined by the flavour's own file: its readers ---- */

extern const struct rtrcu_adopt_flavour shim_flavour;
struct rtrcu_adopted_reader *shim_self(void);
extern EXPORT struct shim_gp NAME(gp);

EXPORT void NAME(read_lock)(void);
EXPORT void NAME(read_unlock)(void);
EXPORT int NAME(read_ongoing)(void);
/* Exported as in liburcu: the first three by qsbr only, unregister_thread by all flavours but bp. */
void NAME(quiescent_state)(void);
void NAME(thread_offline)(void);
void NAME(thread_online)(void);
void NAME(unregister_thread)(void);

/* ---- defined by common.c ---- */

/* The place of the calling thread's pointer to its ring of deferred functions. */
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

/* ---- defined by pointers.c ---- */

EXPORT void *rcu_dereference_sym(void *p);
EXPORT void *rcu_dereference_sym2(void **p);
EXPORT void *rcu_set_pointer_sym(void **p, void *v);
EXPORT void *rcu_xchg_pointer_sym(void **p, void *v);
EXPORT void *rcu_cmpxchg_pointer_sym(void **p, void *old, void *fresh);

/* ---- defined by table.S and copy.c ---- */

/* The flavour's table; urcu_memb_flavor, or the symbol of the flavour in use, is its first part. */
extern const struct rtrcu_flavor_0_15 shim_table;
/* Complete the copy of the table that the loader has made in the program. */
void shim_complete_copy(void);

#endif

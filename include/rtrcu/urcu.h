/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The names of liburcu's flavours that <rtrcu/rcu.h> lacks, over this library's own readers: for programs ported from
 * liburcu, and for liburcu-cds.
 *
 * liburcu's headers that belong to no flavour may be included in the same file: lists, queues, stacks and hash tables.
 * If they define rcu_dereference() and related names again, both mean the same.  <rtrcu/detail/liburcu.h> refuses
 * liburcu's other headers.
 */
#include <rtrcu/rcu.h> /* first, since it may define this header's guard */

#ifndef RTRCU_URCU_H
#define RTRCU_URCU_H

#ifdef __cplusplus
extern "C" {
#endif

/* This library as a flavour for liburcu-cds, with the fields of liburcu 0.15, of which older versions know the first:
 *     table = cds_lfht_new_flavor(1, 1, 0, CDS_LFHT_AUTO_RESIZE, &rtrcu_flavor, NULL);
 * The type is complete if <urcu/flavor.h> is included.  A hash table does not resize during fork(), if the forking
 * thread is outside sections and, in the quiescent-state discipline, offline.  The fork waits until a resize has
 * paused, so no task may be parked or listed that only the forking thread would continue. */
struct rcu_flavor_struct;
extern const struct rcu_flavor_struct rtrcu_flavor;

/* Does nothing: the library is initialised before main. */
static inline void rcu_init(void)
{
}
/* Like rcu_read_lock_held(). */
static inline int rcu_read_ongoing(void)
{
    return rcu_read_lock_held();
}

#undef rcu_set_pointer
#undef rcu_cmpxchg_pointer

/* Like rcu_assign_pointer(), but @p is the address of the pointer. */
#define rcu_set_pointer(p, v) rcu_assign_pointer(*(p), v)
/* Publish @v if @p's pointer is @old; returns the previous pointer, which is @old on success.  A full fence. */
#define rcu_cmpxchg_pointer(p, old, v)                                                                                 \
    __extension__({                                                                                                    \
        __typeof__(*RTRCU_POINTER_PLACE(*(p))) rtrcu_found = (old), rtrcu_fresh = (v);                                 \
        RTRCU_POINTER_ONLY(*(p));                                                                                      \
        (void)rtrcu_compare_exchange(RTRCU_POINTER_PLACE(*(p)), &rtrcu_found, rtrcu_fresh);                            \
        rtrcu_found;                                                                                                   \
    })

/* Functions for liburcu's headers in programs that must not inline a pointer's load or store; rcu_dereference_sym()
 * receives a pointer that its caller has loaded, rcu_dereference_sym2() loads it. */
void *rcu_dereference_sym(void *p);
void *rcu_dereference_sym2(void **p);
void *rcu_set_pointer_sym(void **p, void *v);
void *rcu_xchg_pointer_sym(void **p, void *v);
void *rcu_cmpxchg_pointer_sym(void **p, void *old, void *fresh);

void rtrcu_defer(void (*func)(void *), void *p);
/*
 * defer_rcu - run @func(@p) after a grace period; the object at @p contains no head.
 * Context:  any thread outside sections; not in signal handlers.  If it waits in a thread online in the quiescent-state
 *           discipline, the wait is a quiescent state.
 * Blocks:   as rcu_retire(); if 4,096 callbacks of the thread are pending, up to 100 ms for fewer, but not in callbacks
 *           nor on deadline threads; if no memory is left, for a grace period.
 * Ordering: as call_rcu().
 * Returns:  nothing; cannot fail.
 * See:      rcu_retire(), which returns an error without memory; rcu_free(), where @func is free()
 */
static inline void defer_rcu(void (*func)(void *), void *p)
{
    rtrcu_defer(func, p);
}
/* Does nothing and returns 0: threads have no rings of their own. */
static inline int rcu_defer_register_thread(void)
{
    return 0;
}
/* Like rcu_barrier(). */
static inline void rcu_defer_barrier(void)
{
    rtrcu_barrier();
}
static inline void rcu_defer_barrier_thread(void)
{
    rtrcu_barrier();
}
static inline void rcu_defer_unregister_thread(void)
{
    rtrcu_barrier();
}

/* Does nothing: the library's pthread_atfork() handlers do what is needed. */
static inline void call_rcu_before_fork(void)
{
}
static inline void call_rcu_after_fork_parent(void)
{
}
static inline void call_rcu_after_fork_child(void)
{
}

#ifdef __cplusplus
}
#endif

#endif

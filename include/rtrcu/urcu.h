/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What liburcu's flavours offer beside the names of <rtrcu/rcu.h>, over this library's own readers: for programs that
 * come from there, and for liburcu-cds.
 *
 * liburcu's headers may be in the same file where they belong to no flavour: lists, queues, stacks and hash tables.
 * Where they define rcu_dereference() and its kin again, both mean the same.  <rtrcu/detail/liburcu.h> refuses others.
 */
#include <rtrcu/rcu.h> /* before the guard: it may set it */

#ifndef RTRCU_URCU_H
#define RTRCU_URCU_H

#ifdef __cplusplus
extern "C" {
#endif

/* This library as liburcu-cds sees it, with the fields of liburcu 0.15, of which older ones know the first:
 *     table = cds_lfht_new_flavor(1, 1, 0, CDS_LFHT_AUTO_RESIZE, &rtrcu_flavor, NULL);
 * The type is complete where <urcu/flavor.h> is included.  A hash table's resizing is at rest during fork(), if the
 * forking thread is outside sections and, of the quiescent-state discipline, offline.  The fork waits for that: no task
 * may be parked or listed that only the forking thread would go on with. */
struct rcu_flavor_struct;
extern const struct rcu_flavor_struct rtrcu_flavor;

/* Nothing: the library is there before main. */
static inline void rcu_init(void)
{
}
/* As rcu_read_lock_held(). */
static inline int rcu_read_ongoing(void)
{
    return rcu_read_lock_held();
}

#undef rcu_set_pointer
#undef rcu_cmpxchg_pointer

/* rcu_assign_pointer() with the pointer's address. */
#define rcu_set_pointer(p, v) rcu_assign_pointer(*(p), v)
/* Publish @v where @p's pointer is @old; what it was, which is @old where that has been done.  A full fence. */
#define rcu_cmpxchg_pointer(p, old, v)                                                                                 \
    __extension__({                                                                                                    \
        __typeof__(*RTRCU_POINTER_PLACE(*(p))) rtrcu_found = (old), rtrcu_fresh = (v);                                 \
        RTRCU_POINTER_ONLY(*(p));                                                                                      \
        (void)rtrcu_compare_exchange(RTRCU_POINTER_PLACE(*(p)), &rtrcu_found, rtrcu_fresh);                            \
        rtrcu_found;                                                                                                   \
    })

/* Functions for liburcu's headers where these may not inline a pointer's load or store; rcu_dereference_sym() gets a
 * pointer that its caller has loaded, rcu_dereference_sym2() loads it. */
void *rcu_dereference_sym(void *p);
void *rcu_dereference_sym2(void **p);
void *rcu_set_pointer_sym(void **p, void *v);
void *rcu_xchg_pointer_sym(void **p, void *v);
void *rcu_cmpxchg_pointer_sym(void **p, void *old, void *fresh);

void rtrcu_defer(void (*func)(void *), void *p);
/*
 * defer_rcu - run @func(@p) after a grace period: what p points to needs no head.
 * Context:  any thread outside sections; not in signal handlers.  Online in the quiescent-state discipline, where it
 *           waits it is a quiescent state.
 * Blocks:   as rcu_retire(); where 4,096 callbacks of the thread are pending, up to 100 ms for fewer, but not in
 *           callbacks nor on deadline threads; where no memory is left, for a grace period.
 * Ordering: as call_rcu().
 * Returns:  nothing; cannot fail.
 * See:      rcu_retire(), which says that no memory is left; rcu_free(), where @func is free()
 */
static inline void defer_rcu(void (*func)(void *), void *p)
{
    rtrcu_defer(func, p);
}
/* Nothing and 0: no thread has a ring of its own. */
static inline int rcu_defer_register_thread(void)
{
    return 0;
}
/* As rcu_barrier(). */
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

/* Nothing: pthread_atfork() does what there is to do. */
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

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Pointers that readers follow and updaters publish.  Names that <rtrcu/rcu.h> has defined keep that definition. */
#ifndef RTRCU_LIBURCU_POINTER_H
#define RTRCU_LIBURCU_POINTER_H

#include <urcu/static/pointer.h>

#ifndef rcu_dereference
#define rcu_dereference(p) _rcu_dereference(p)
#endif
#ifndef rcu_assign_pointer
#define rcu_assign_pointer(p, v) _rcu_assign_pointer(p, v)
#endif
#ifndef rcu_xchg_pointer
#define rcu_xchg_pointer(p, v) _rcu_xchg_pointer(p, v)
#endif
#ifndef rcu_set_pointer
#define rcu_set_pointer(p, v) _rcu_set_pointer(p, v)
#endif
#ifndef rcu_cmpxchg_pointer
#define rcu_cmpxchg_pointer(p, old, v) _rcu_cmpxchg_pointer(p, old, v)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The same as functions, for callers in other languages.  The caller of rcu_dereference_sym() has loaded the pointer;
 * rcu_dereference_sym2() loads it. */
void *rcu_dereference_sym(void *p);
void *rcu_dereference_sym2(void **p);
void *rcu_set_pointer_sym(void **p, void *v);
void *rcu_xchg_pointer_sym(void **p, void *v);
void *rcu_cmpxchg_pointer_sym(void **p, void *old, void *fresh);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Inline publication and loads of pointers.  As with liburcu, words of other types are accepted. */
#ifndef RTRCU_LIBURCU_STATIC_POINTER_H
#define RTRCU_LIBURCU_STATIC_POINTER_H

#include <urcu/arch.h> /* programs expect these from this header */
#include <urcu/compiler.h>
#include <urcu/uatomic.h>
#if defined(_LGPL_SOURCE) && __has_include(<urcu/annotate.h>)
#include <urcu/annotate.h>
#endif

#include <rtrcu/detail/atomic.h>

#ifdef _LGPL_SOURCE
/* Are @a and @b equal?  The compiler must not replace one by the other afterwards. */
static inline int cmm_ptr_eq(const void *a, const void *b)
{
    __asm__("" : "+r"(a));
    __asm__("" : "+r"(b));
    return a == b;
}
#endif

/* Load @p, an lvalue, once. */
#define _rcu_dereference(p) rtrcu_load_consume(&(p))

/* _rcu_assign_pointer() takes the pointer, the macros below take its address; @v is converted as by an assignment. */
#define _rcu_assign_pointer(p, v) _rcu_set_pointer(&(p), v)
#define _rcu_set_pointer(p, v)                                                                                         \
    __extension__({                                                                                                    \
        __typeof__(*(p)) rtrcu_set = (v);                                                                              \
        rtrcu_store_release(p, rtrcu_set);                                                                             \
    })
/* Publish, and return the previous value.  Full fences. */
#define _rcu_xchg_pointer(p, v)                                                                                        \
    __extension__({                                                                                                    \
        __typeof__(*(p)) rtrcu_put = (v);                                                                              \
        rtrcu_exchange(p, rtrcu_put);                                                                                  \
    })
#define _rcu_cmpxchg_pointer(p, old, v)                                                                                \
    __extension__({                                                                                                    \
        __typeof__(*(p)) rtrcu_found = (old), rtrcu_fresh = (v);                                                       \
        (void)rtrcu_compare_exchange(p, &rtrcu_found, rtrcu_fresh);                                                    \
        rtrcu_found;                                                                                                   \
    })

#endif

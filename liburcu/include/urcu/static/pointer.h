/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Publishing and following pointers, compiled in.  As with liburcu's, a word of another type will do.
 */
#ifndef RTRCU_LIBURCU_STATIC_POINTER_H
#define RTRCU_LIBURCU_STATIC_POINTER_H

#include <urcu/arch.h> /* programs have these from here */
#include <urcu/compiler.h>
#include <urcu/uatomic.h>
#if defined(_LGPL_SOURCE) && __has_include(<urcu/annotate.h>)
#include <urcu/annotate.h>
#endif

#include <rtrcu/detail/atomic.h>

#ifdef _LGPL_SOURCE
/* Is @a the same as @b?  The compiler cannot follow one in the place of the other afterwards. */
static inline int cmm_ptr_eq(const void *a, const void *b)
{
    __asm__("" : "+r"(a));
    __asm__("" : "+r"(b));
    return a == b;
}
#endif

/* @p itself is read, once: it is a place, not a value. */
#define _rcu_dereference(p) rtrcu_load_consume(&(p))

/* @p of the others is the pointer's address, and @v is converted as by an assignment. */
#define _rcu_assign_pointer(p, v) _rcu_set_pointer(&(p), v)
#define _rcu_set_pointer(p, v)                                                                                         \
    __extension__({                                                                                                    \
        __typeof__(*(p)) rtrcu_set = (v);                                                                              \
        rtrcu_store_release(p, rtrcu_set);                                                                             \
    })
/* Full fences; what was there before. */
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

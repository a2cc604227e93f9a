/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names that every flavour exports: pointer functions for callers in other languages, and futexes for old kernels.
 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shim.h"

void *rcu_dereference_sym(void *p)
{
    return p; /* the caller has already loaded the pointer */
}

void *rcu_dereference_sym2(void **p)
{
    return rtrcu_load_consume(p);
}

void *rcu_set_pointer_sym(void **p, void *v)
{
    rtrcu_store_release(p, v);
    return v;
}

void *rcu_xchg_pointer_sym(void **p, void *v)
{
    return rtrcu_exchange(p, v);
}

void *rcu_cmpxchg_pointer_sym(void **p, void *old, void *fresh)
{
    (void)rtrcu_compare_exchange(p, &old, fresh);
    return old;
}

/* Exported because liburcu exports them: lock and condition of its replacement for futexes; unused here. */
EXPORT __attribute__((weak)) pthread_mutex_t __urcu_compat_futex_lock = PTHREAD_MUTEX_INITIALIZER;
EXPORT __attribute__((weak)) pthread_cond_t __urcu_compat_futex_cond = PTHREAD_COND_INITIALIZER;

EXPORT int compat_futex_noasync(int32_t *word, int operation, int32_t value, const struct timespec *timeout,
                                int32_t *other, int32_t value3);
int compat_futex_noasync(int32_t *word, int operation, int32_t value, const struct timespec *timeout, int32_t *other,
                         int32_t value3)
{
    return (int)syscall(SYS_futex, word, operation, value, timeout, other, value3);
}

EXPORT int compat_futex_async(int32_t *word, int operation, int32_t value, const struct timespec *timeout,
                              int32_t *other, int32_t value3);
int compat_futex_async(int32_t *word, int operation, int32_t value, const struct timespec *timeout, int32_t *other,
                       int32_t value3)
{
    return (int)syscall(SYS_futex, word, operation, value, timeout, other, value3);
}

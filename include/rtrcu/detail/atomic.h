/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Atomic accesses with their memory order in the name.
 *
 * A wrapper here means "this location is shared and races on purpose"; data protected by a lock is accessed plainly, so
 * that the race detector can see a missing lock.  No other file uses the compiler's __atomic builtins.
 */
#ifndef RTRCU_DETAIL_ATOMIC_H
#define RTRCU_DETAIL_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#if !defined(__linux__)
#error "rtrcu needs Linux"
#elif !defined(__LP64__)
#error "rtrcu needs a 64-bit processor: it changes sequence numbers of 64 bits in one instruction"
#endif

#define rtrcu_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define rtrcu_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define rtrcu_load_consume(p) __atomic_load_n((p), __ATOMIC_CONSUME)
#define rtrcu_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define rtrcu_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

/* Read-modify-write: a full fence for all accesses before and after, including relaxed loads.  On x86-64 the locked
 * instruction is a full fence; elsewhere the exclusive pair orders less, so a fence follows it. */
#if defined(__x86_64__)
#define RTRCU_UPDATE(operation) (operation)
#else
#define RTRCU_UPDATE(operation)                                                                                        \
    __extension__({                                                                                                    \
        __typeof__(operation) rtrcu_before = (operation);                                                              \
        __atomic_thread_fence(__ATOMIC_SEQ_CST);                                                                       \
        rtrcu_before;                                                                                                  \
    })
#endif
#define rtrcu_exchange(p, v) RTRCU_UPDATE(__atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST))
#define rtrcu_fetch_add(p, v) RTRCU_UPDATE(__atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST))
#define rtrcu_fetch_or(p, v) RTRCU_UPDATE(__atomic_fetch_or((p), (v), __ATOMIC_SEQ_CST))
#define rtrcu_fetch_and(p, v) RTRCU_UPDATE(__atomic_fetch_and((p), (v), __ATOMIC_SEQ_CST))

/* Compare-and-swap; on failure *expected receives the current value. */
#define rtrcu_compare_exchange(p, expected, desired)                                                                   \
    RTRCU_UPDATE(__atomic_compare_exchange_n((p), (expected), (desired), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))

/* Add @v to a counter with one writer at a time; a concurrent read may be late, but is never torn. */
#define rtrcu_count_add(p, v) rtrcu_store_relaxed((p), rtrcu_load_relaxed(p) + (v))

/* Add one.  Called by the owning thread and its signal handlers; a release.  A single instruction if the processor has
 * one: else a handler's count could be lost between load and store. */
static inline void rtrcu_count_owner(uint64_t *counter)
{
#if defined(__x86_64__)
    __asm__ __volatile__("{incq (%1)|inc qword ptr [%1]}" : "+m"(*counter) : "r"(counter) : "cc");
#else
    __atomic_fetch_add(counter, 1, __ATOMIC_RELEASE);
#endif
}

#endif

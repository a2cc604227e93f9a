/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A hint of the CPU on which the caller runs: readers of one domain use it to choose different counters. */
#ifndef RTRCU_DETAIL_CPU_H
#define RTRCU_DETAIL_CPU_H

#include <stddef.h>
#include <stdint.h>

#include <rtrcu/detail/atomic.h>

/* The distance from the thread pointer to the thread's struct rseq.  glibc has this name since 2.35; other C libraries
 * register no restartable sequences. */
extern const ptrdiff_t rtrcu_rseq_offset __asm__("__rseq_offset") __attribute__((weak));

/* The struct begins with the number of the CPU on which a sequence started; the current CPU's number follows. */
#define RTRCU_RSEQ_CPU_ID 4

static inline uintptr_t rtrcu_thread_pointer(void)
{
    uintptr_t pointer;
#if defined(__x86_64__)
    __asm__ __volatile__("{movq %%fs:0, %0|mov %0, QWORD PTR fs:[0]}" : "=r"(pointer));
#elif defined(__powerpc64__)
    __asm__ __volatile__("mr %0, 13" : "=r"(pointer));
#else
    pointer = (uintptr_t)__builtin_thread_pointer();
#endif
    return pointer;
}

/* The number of the caller's CPU; where the C library has not registered restartable sequences, a number that
 * depends on the thread.  It may be stale after a migration, which is harmless: callers are correct with any number. */
static inline uint32_t rtrcu_cpu_hint(void)
{
    uint32_t cpu = UINT32_MAX;
    if (__builtin_expect(&rtrcu_rseq_offset != NULL, 1)) {
#if defined(__x86_64__)
        __asm__ __volatile__("{movl %%fs:%c2(%1), %0|mov %0, DWORD PTR fs:[%1 + %c2]}"
                             : "=r"(cpu)
                             : "r"(rtrcu_rseq_offset), "i"(RTRCU_RSEQ_CPU_ID));
#else
        cpu = rtrcu_load_relaxed(
            (const uint32_t *)(rtrcu_thread_pointer() + (uintptr_t)rtrcu_rseq_offset + RTRCU_RSEQ_CPU_ID));
#endif
    }
    if (__builtin_expect(cpu > INT32_MAX, 0))
        cpu = (uint32_t)(rtrcu_thread_pointer() >> 12);
    return cpu;
}

#endif

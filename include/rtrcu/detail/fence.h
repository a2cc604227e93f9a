/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fences that a reader or updater may use inline.  The heavy half of the asymmetric pair is plat_fence_heavy().
 *
 * fence_light: restricts the compiler, not the processor; pairs only with a heavy fence on the other side.
 * fence_full:  restricts compiler and processor, including store to load.
 */
#ifndef RTRCU_DETAIL_FENCE_H
#define RTRCU_DETAIL_FENCE_H

static inline void rtrcu_fence_light(void)
{
    __asm__ __volatile__("" ::: "memory");
}

/* May a store become visible before an earlier load is done? */
#if defined(__x86_64__)
#define RTRCU_STORES_PASS_LOADS 0
#else
#define RTRCU_STORES_PASS_LOADS 1
#endif

static inline void rtrcu_fence_full(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Hint to the other hyper-thread, or the virtual machine, that this is a spin loop. */
static inline void rtrcu_cpu_relax(void)
{
#if defined(__x86_64__)
    __asm__ __volatile__("pause" ::: "memory");
#elif defined(__aarch64__)
    __asm__ __volatile__("yield" ::: "memory");
#endif
}

/* ThreadSanitizer does not see asm or membarrier: these annotations describe the ordering by grace periods. */
#if defined(__SANITIZE_THREAD__)
#define RTRCU_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RTRCU_TSAN 1
#endif
#endif

#ifdef RTRCU_TSAN
#ifdef __cplusplus
extern "C" {
#endif
void __tsan_acquire(void *addr);
void __tsan_release(void *addr);
#ifdef __cplusplus
}
#endif
#define rtrcu_tsan_acquire(p) __tsan_acquire((void *)(uintptr_t)(p))
#define rtrcu_tsan_release(p) __tsan_release((void *)(uintptr_t)(p))
#else
#define rtrcu_tsan_acquire(p) ((void)(p))
#define rtrcu_tsan_release(p) ((void)(p))
#endif

#endif

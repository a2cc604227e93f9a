/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The explored build's version of include/rtrcu/detail/fence.h: the real text, whose full fence and pause call the
 * simulated machine.
 * The model itself orders accesses here, so the annotations for another race detector are empty. */
#ifndef SIM_RTRCU_DETAIL_FENCE_H
#define SIM_RTRCU_DETAIL_FENCE_H

#include <rtrcu/detail/atomic.h>

/* The library's full fence; a fence of another order does not compile here. */
#pragma push_macro("__atomic_thread_fence")
#undef __atomic_thread_fence
#define __atomic_thread_fence(order)                                                                                   \
    ((void)sizeof(char[(order) == __ATOMIC_SEQ_CST ? 1 : -1]), sim_fence_full(__func__))
#define rtrcu_cpu_relax rtrcu_machine_cpu_relax
#include_next <rtrcu/detail/fence.h>
#undef rtrcu_cpu_relax
#undef rtrcu_tsan_acquire
#undef rtrcu_tsan_release
#pragma pop_macro("__atomic_thread_fence")

#undef RTRCU_STORES_PASS_LOADS
#define RTRCU_STORES_PASS_LOADS sim_two_words
#define rtrcu_cpu_relax() sim_relax(__func__)
#define rtrcu_tsan_acquire(p) ((void)(p))
#define rtrcu_tsan_release(p) ((void)(p))

#endif

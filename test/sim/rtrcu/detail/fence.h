/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The explored build's way into include/rtrcu/detail/fence.h: the real text, whose full fence and pause are told to the
 * simulated machine.
 *
 * What orders accesses here is the model itself, so the annotations for another race detector are empty here.
 */
#ifndef SIM_RTRCU_DETAIL_FENCE_H
#define SIM_RTRCU_DETAIL_FENCE_H

#include <rtrcu/detail/atomic.h>

#define rtrcu_cpu_relax rtrcu_machine_cpu_relax
#ifdef SIM_TWO_WORDS
#pragma push_macro("__x86_64__")
#undef __x86_64__
#define __aarch64__ 1
#endif
#include_next <rtrcu/detail/fence.h>
#ifdef SIM_TWO_WORDS
#undef __aarch64__
#pragma pop_macro("__x86_64__")
#endif
#undef rtrcu_cpu_relax
#undef rtrcu_tsan_acquire
#undef rtrcu_tsan_release

#define rtrcu_cpu_relax() sim_relax(__func__)
#define rtrcu_tsan_acquire(p) ((void)(p))
#define rtrcu_tsan_release(p) ((void)(p))

#endif

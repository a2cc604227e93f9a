/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The explored build's version of include/rtrcu/detail/atomic.h: the real text, whose builtins call the simulated
 * machine.  It is compiled as for aarch64, whose updates have a fence after them.  The machine omits that fence when it
 * has x86's layout of the reader word.
 * A builtin that is missing here would call the compiler's race detector, and fails to link. */
#ifndef SIM_RTRCU_DETAIL_ATOMIC_H
#define SIM_RTRCU_DETAIL_ATOMIC_H

#include "sim.h"

#if __ATOMIC_RELAXED != 0 || __ATOMIC_ACQUIRE != 2 || __ATOMIC_RELEASE != 3 || __ATOMIC_ACQ_REL != 4 ||                \
    __ATOMIC_SEQ_CST != 5
#error "enum sim_order is numbered otherwise than by this compiler"
#endif

#define SIM_VALUE(v) ((uint64_t)(uintptr_t)(v))
#define SIM_UPDATE(p, v, operation, order)                                                                             \
    ((__typeof__(*(p)))sim_update((p), SIM_VALUE(v), sizeof(*(p)), (operation), (order), #operation " " #p, __func__))

#define __atomic_load_n(p, order) ((__typeof__(*(p)))sim_load((p), sizeof(*(p)), (order), "load " #p, __func__))
#define __atomic_store_n(p, v, order) sim_store((p), SIM_VALUE(v), sizeof(*(p)), (order), "store " #p, __func__)
#define __atomic_exchange_n(p, v, order) SIM_UPDATE(p, v, SIM_EXCHANGE, order)
#define __atomic_fetch_add(p, v, order) SIM_UPDATE(p, v, SIM_ADD, order)
#define __atomic_fetch_or(p, v, order) SIM_UPDATE(p, v, SIM_OR, order)
#define __atomic_fetch_and(p, v, order) SIM_UPDATE(p, v, SIM_AND, order)
#define __atomic_compare_exchange_n(p, expected, desired, weak, order, failure)                                        \
    sim_compare_exchange((p), (expected), SIM_VALUE(desired), sizeof(*(p)), (order), "compare-exchange " #p, __func__)
/* The fence of an update, the only one that the real text expands later. */
#define __atomic_thread_fence(order) (sim_two_words ? sim_fence_full(__func__) : (void)0)

#define rtrcu_count_owner rtrcu_count_owner_aarch64
#pragma push_macro("__x86_64__")
#undef __x86_64__
#define __aarch64__ 1
#include_next <rtrcu/detail/atomic.h>
#undef __aarch64__
#pragma pop_macro("__x86_64__")
#undef rtrcu_count_owner

/* x86 counts by an unlocked instruction, for which there is no builtin. */
#define rtrcu_count_owner(p)                                                                                           \
    (sim_two_words ? rtrcu_count_owner_aarch64(p)                                                                      \
                   : (void)sim_owner_add((p), 1, sizeof(*(p)), SIM_RELEASE, "owner-add " #p, __func__))

/* A statistic is one event, which no other event may follow. */
#undef rtrcu_count_add
#define rtrcu_count_add(p, v) sim_count((p), SIM_VALUE(v), sizeof(*(p)), "count " #p)

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Shadow of include/rtrcu/detail/atomic.h for the explored build: the same names, told to the simulated machine.
 *
 * It replaces the real file as a whole, so that a wrapper that is missing here fails to compile rather than escapes.
 */
#ifndef SIM_RTRCU_DETAIL_ATOMIC_H
#define SIM_RTRCU_DETAIL_ATOMIC_H

#include "sim.h"

#define SIM_VALUE(v) ((uint64_t)(uintptr_t)(v))
#define SIM_LOAD(p, order) ((__typeof__(*(p)))sim_load((p), sizeof(*(p)), (order), "load " #p, __func__))
#define SIM_STORE(p, v, order) sim_store((p), SIM_VALUE(v), sizeof(*(p)), (order), "store " #p, __func__)
#define SIM_UPDATE_ALONE(p, v, operation)                                                                              \
    ((__typeof__(*(p)))sim_update((p), SIM_VALUE(v), sizeof(*(p)), (operation), #operation " " #p, __func__))
#define SIM_COMPARE_ALONE(p, expected, desired)                                                                        \
    sim_compare_exchange((p), (expected), SIM_VALUE(desired), sizeof(*(p)), "compare-exchange " #p, __func__)

/* As in the real file: the exclusive pair of aarch64 has a fence behind it. */
#ifdef SIM_TWO_WORDS
#define SIM_FENCED(update)                                                                                             \
    __extension__({                                                                                                    \
        __typeof__(update) sim_before = (update);                                                                      \
        sim_fence_full(__func__);                                                                                      \
        sim_before;                                                                                                    \
    })
#else
#define SIM_FENCED(update) (update)
#endif
#define SIM_UPDATE(p, v, operation) SIM_FENCED(SIM_UPDATE_ALONE(p, v, operation))

#define rtrcu_load_relaxed(p) SIM_LOAD(p, SIM_RELAXED)
#define rtrcu_load_acquire(p) SIM_LOAD(p, SIM_ACQUIRE)
/* Compilers give it the order of an acquire. */
#define rtrcu_load_consume(p) SIM_LOAD(p, SIM_ACQUIRE)
#define rtrcu_store_relaxed(p, v) SIM_STORE(p, v, SIM_RELAXED)
#define rtrcu_store_release(p, v) SIM_STORE(p, v, SIM_RELEASE)

#define rtrcu_exchange(p, v) SIM_UPDATE(p, v, SIM_EXCHANGE)
#define rtrcu_fetch_add(p, v) SIM_UPDATE(p, v, SIM_ADD)
#define rtrcu_fetch_or(p, v) SIM_UPDATE(p, v, SIM_OR)
#define rtrcu_fetch_and(p, v) SIM_UPDATE(p, v, SIM_AND)

#define rtrcu_compare_exchange(p, expected, desired) SIM_FENCED(SIM_COMPARE_ALONE(p, expected, desired))

#define rtrcu_count_add(p, v) sim_count((p), SIM_VALUE(v), sizeof(*(p)))

/* A macro here, so that the trace names the caller's counter. */
#define rtrcu_count_owner(p) ((void)sim_owner_add((p), 1, sizeof(*(p)), SIM_RELEASE, "owner-add " #p, __func__))

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Shadow of include/rtrcu/detail/fence.h for the explored build.
 *
 * fence_light orders nothing between machines, and the explored source keeps the compiler's order anyway.
 */
#ifndef SIM_RTRCU_DETAIL_FENCE_H
#define SIM_RTRCU_DETAIL_FENCE_H

#include "sim.h"

#define rtrcu_fence_light() ((void)0)
#define rtrcu_fence_full() sim_fence_full(__func__)
#define rtrcu_cpu_relax() sim_relax(__func__)

/* What orders accesses here is the model itself, so the annotations for another race detector are empty. */
#define rtrcu_tsan_acquire(p) ((void)(p))
#define rtrcu_tsan_release(p) ((void)(p))

#endif

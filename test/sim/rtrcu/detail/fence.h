/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The explored build's way into include/rtrcu/detail/fence.h: the real text, whose full fence and pause are told to the
 * simulated machine.
 *
 * What orders accesses here is the model itself, so the annotations for another race detector stay empty.
 */
#ifndef SIM_RTRCU_DETAIL_FENCE_H
#define SIM_RTRCU_DETAIL_FENCE_H

#include <rtrcu/detail/atomic.h>

#define rtrcu_cpu_relax rtrcu_machine_cpu_relax
#pragma push_macro("__SANITIZE_THREAD__")
#undef __SANITIZE_THREAD__
#include_next <rtrcu/detail/fence.h>
#pragma pop_macro("__SANITIZE_THREAD__")
#undef rtrcu_cpu_relax

#define rtrcu_cpu_relax() sim_relax(__func__)

#endif

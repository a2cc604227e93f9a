/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memb: light fences while the kernel has membarrier(); its readers are in nesting.c.
 */
#include "nesting.h"

EXPORT uint32_t urcu_memb_has_sys_membarrier;

const struct rtrcu_adopt_flavour shim_flavour = {
    .kind = RTRCU_ADOPT_MEMB,
    .name = "urcu-memb",
    .generation = &urcu_memb_gp.generation,
    .futex = &urcu_memb_gp.futex,
    .light = &urcu_memb_has_sys_membarrier,
    .self = shim_self,
    .ring = shim_ring,
};

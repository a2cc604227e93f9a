/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* mb: full fences on both sides; its readers are in nesting.c.
 */
#include "nesting.h"

uint32_t urcu_mb_has_sys_membarrier; /* never set: mb's readers always use full fences */

const struct rtrcu_adopt_flavour shim_flavour = {
    .kind = RTRCU_ADOPT_MB,
    .name = "urcu-mb",
    .generation = &urcu_mb_gp.generation,
    .futex = &urcu_mb_gp.futex,
    .self = shim_self,
    .ring = shim_ring,
};

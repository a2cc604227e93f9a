/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The read side of the flavours whose word counts sections, memb, mb and bp: what programs may have compiled in, for
 * callers.
 */
#ifndef RTRCU_LIBURCU_NESTING_H
#define RTRCU_LIBURCU_NESTING_H

#include <rtrcu/detail/nesting.h>

#include "shim.h"

/* atomic: not 0 while the other side has membarrier().  memb's and bp's programs know it; mb's is its own, and 0. */
extern uint32_t NAME(has_sys_membarrier);

static inline void shim_enter(struct rtrcu_adopted_reader *self)
{
    rtrcu_adopted_enter(&self->word, &NAME(gp).generation, &NAME(has_sys_membarrier));
}

/* True: it was the outermost section, and its end can be seen. */
static inline bool shim_leave(struct rtrcu_adopted_reader *self)
{
    return rtrcu_adopted_leave(&self->word, &NAME(gp).generation, &NAME(has_sys_membarrier));
}

#endif

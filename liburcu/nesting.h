/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The read side of the flavours whose word counts sections, memb, mb and bp, for callers that have not compiled it in.
 */
#ifndef RTRCU_LIBURCU_NESTING_H
#define RTRCU_LIBURCU_NESTING_H

#include <rtrcu/detail/nesting.h>

#include "shim.h"

/* atomic: not 0 while grace periods use membarrier().  Programs of memb and bp read it; mb's is private, and 0. */
extern uint32_t NAME(has_sys_membarrier);

static inline void shim_enter(struct rtrcu_adopted_reader *self)
{
    rtrcu_adopted_enter(&self->word, &NAME(gp).generation, &NAME(has_sys_membarrier));
}

/* End a section.  True: it was the outermost section, and its end is visible. */
static inline bool shim_leave(struct rtrcu_adopted_reader *self)
{
    return rtrcu_adopted_leave(&self->word, &NAME(gp).generation, &NAME(has_sys_membarrier));
}

#endif

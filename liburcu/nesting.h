/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The read side of the flavours whose word counts sections: memb, mb and bp.  The low half is the nesting; a section
 * that begins takes the generation with it.
 */
#ifndef RTRCU_LIBURCU_NESTING_H
#define RTRCU_LIBURCU_NESTING_H

#include "shim.h"

/* atomic: not 0 while the other side has membarrier().  memb's and bp's programs know it; mb's is its own, and 0. */
extern uint32_t NAME(has_sys_membarrier);

static inline void shim_fence(bool light)
{
    if (likely(light))
        rtrcu_fence_light();
    else
        rtrcu_fence_full();
}

static inline void shim_enter(struct rtrcu_adopted_reader *self)
{
    uint64_t word = self->word;
    if (unlikely((uint32_t)word != 0)) {
        rtrcu_store_relaxed(&self->word, word + 1);
        return;
    }
    rtrcu_store_relaxed(&self->word, rtrcu_load_relaxed(&NAME(gp).generation));
    shim_fence(rtrcu_load_relaxed(&NAME(has_sys_membarrier)));
}

/* True: it was the outermost section, and its end can be seen. */
static inline bool shim_leave(struct rtrcu_adopted_reader *self)
{
    uint64_t word = self->word;
    if (unlikely((uint32_t)word != 1)) {
        rtrcu_store_relaxed(&self->word, word - 1);
        return false;
    }
    bool light = rtrcu_load_relaxed(&NAME(has_sys_membarrier));
    rtrcu_tsan_release(&NAME(gp).generation);
    shim_fence(light);
    rtrcu_store_release(&self->word, word - 1);
    shim_fence(light);
    return true;
}

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The read side of the flavours whose word counts sections: memb, mb and bp.  The low half is the nesting; a section
 * that begins takes the generation with it.
 */
#ifndef RTRCU_LIBURCU_NESTING_H
#define RTRCU_LIBURCU_NESTING_H

#include "shim.h"

/* @light: the other side has membarrier(). */
static inline void shim_fence(bool light)
{
    if (likely(light))
        rtrcu_fence_light();
    else
        rtrcu_fence_full();
}

static inline void shim_enter(struct rtrcu_adopted_reader *self, const struct shim_gp *gp, const uint32_t *light)
{
    uint64_t word = self->word;
    if (unlikely((uint32_t)word != 0)) {
        rtrcu_store_relaxed(&self->word, word + 1);
        return;
    }
    rtrcu_store_relaxed(&self->word, rtrcu_load_relaxed(&gp->generation));
    shim_fence(light && rtrcu_load_relaxed(light));
}

/* True: it was the outermost section, and its end can be seen. */
static inline bool shim_leave(struct rtrcu_adopted_reader *self, const uint32_t *light)
{
    uint64_t word = self->word;
    if (unlikely((uint32_t)word != 1)) {
        rtrcu_store_relaxed(&self->word, word - 1);
        return false;
    }
    bool fences = light && rtrcu_load_relaxed(light);
    shim_fence(fences);
    rtrcu_store_release(&self->word, word - 1);
    shim_fence(fences);
    return true;
}

#endif

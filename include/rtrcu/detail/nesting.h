/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A reader of the flavours whose word counts sections, memb, mb and bp: as this library's own headers in liburcu's
 * place compile it into programs, and as the libraries that stand in for liburcu's offer it to callers.
 *
 * The low half of the word is the nesting; a section that begins takes the generation with it.  The owner alone writes
 * the word; src/urcu/urcu.h tells what grace periods make of it.
 */
#ifndef RTRCU_DETAIL_NESTING_H
#define RTRCU_DETAIL_NESTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rtrcu/detail/atomic.h>
#include <rtrcu/detail/fence.h>

/* @light: NULL, or what is not 0 while the other side has membarrier(). */
static inline void rtrcu_adopted_fence(const uint32_t *light)
{
    if (light && __builtin_expect(rtrcu_load_relaxed(light) != 0, 1))
        rtrcu_fence_light();
    else
        rtrcu_fence_full();
}

static inline bool rtrcu_adopted_is_inside(const uint64_t *word)
{
    return (uint32_t)rtrcu_load_relaxed(word) != 0;
}

/* The fence is a reader's half of [O24]; the scan is urcu_scan(). */
static inline void rtrcu_adopted_enter(uint64_t *word, const uint64_t *generation, const uint32_t *light)
{
    uint64_t before = rtrcu_load_relaxed(word);
    if (__builtin_expect((uint32_t)before != 0, 0)) {
        rtrcu_store_relaxed(word, before + 1);
        return;
    }

    rtrcu_store_relaxed(word, rtrcu_load_relaxed(generation));
    rtrcu_adopted_fence(light);
}

/* True: it was the outermost section, and who waits for it may sleep: the last fence is a reader's half of [O18], in
 * front of its look at the futex; urcu_sleep() is the other. */
static inline bool rtrcu_adopted_leave(uint64_t *word, const uint64_t *generation, const uint32_t *light)
{
    uint64_t before = rtrcu_load_relaxed(word);
    if (__builtin_expect((uint32_t)before != 1, 0)) {
        rtrcu_store_relaxed(word, before - 1);
        return false;
    }

    rtrcu_tsan_release(generation);
    rtrcu_adopted_fence(light);
    rtrcu_store_release(word, before - 1);
    rtrcu_adopted_fence(light);
    return true;
}

#endif

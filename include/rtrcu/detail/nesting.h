/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Read side of the flavours whose word counts sections, memb, mb and bp: compiled into programs by this library's
 * replacements of liburcu's headers, and offered out of line by the libraries that replace liburcu's.
 *
 * The low half of the word is the nesting; a section stores the current generation in the high half when it begins.
 * Only the owner writes the word; src/urcu/urcu.h describes how grace periods interpret it.
 */
#ifndef RTRCU_DETAIL_NESTING_H
#define RTRCU_DETAIL_NESTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rtrcu/detail/atomic.h>
#include <rtrcu/detail/fence.h>

/* A reader's fence: light or full.  @light: NULL, or a word that is not 0 while grace periods use membarrier(). */
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

/* Begin a section.  The fence is a reader's half of [O24]; the scan is urcu_scan(). */
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

/* End a section.  True: the section was the outermost, and a waiter may be asleep.  The last fence, before the read of
 * the futex, is a reader's half of [O18]; the sleeper's half is urcu_sleep(). */
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

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Shadow of include/rtrcu/detail/reader.h for the explored build: the real layout, with the machine's part replaced.
 *
 * One word (x86-64) or, with SIM_TWO_WORDS, a flag of its own (aarch64).  The thread-local block becomes an object of
 * the simulated thread.
 */
#ifndef SIM_RTRCU_DETAIL_READER_H
#define SIM_RTRCU_DETAIL_READER_H

#define rtrcu_self_offset rtrcu_machine_self_offset
#define rtrcu_word_enter rtrcu_machine_word_enter
#define rtrcu_word_leave rtrcu_machine_word_leave
#define rtrcu_word_read rtrcu_machine_word_read
#include_next <rtrcu/detail/reader.h>
#undef rtrcu_self_offset
#undef rtrcu_word_enter
#undef rtrcu_word_leave
#undef rtrcu_word_read

#define rtrcu_self (*sim_self())

#ifndef SIM_TWO_WORDS

/* The sign bit of the result is the flag's "fast" bit. */
#define SIM_IS_SLOW(word) (((word)&0x80000000u) == 0)

static inline bool rtrcu_word_enter(void)
{
    return SIM_IS_SLOW(sim_owner_add(&sim_self()->word, 1, 4, SIM_RELEASE, "incl word", __func__));
}

static inline bool rtrcu_word_leave(void)
{
    return SIM_IS_SLOW(sim_owner_add(&sim_self()->word, UINT32_MAX, 4, SIM_RELEASE, "decl word", __func__));
}

static inline uint32_t rtrcu_word_read(void)
{
    return rtrcu_load_relaxed(&sim_self()->word);
}

#else

static inline bool rtrcu_word_enter(void)
{
    struct rtrcu_thread *self = sim_self();
    rtrcu_store_relaxed(&self->word, rtrcu_load_relaxed(&self->word) + 1);
    rtrcu_fence_light();
    return rtrcu_load_relaxed(&self->flag) != RTRCU_FLAG_FAST;
}

static inline bool rtrcu_word_leave(void)
{
    struct rtrcu_thread *self = sim_self();
    uint32_t word = rtrcu_load_relaxed(&self->word) - 1;
    rtrcu_store_release(&self->word, word);
    rtrcu_fence_light();
    return rtrcu_load_relaxed(&self->flag) != RTRCU_FLAG_FAST || (word & RTRCU_INSIDE_MASK) == RTRCU_INSIDE_MASK;
}

static inline uint32_t rtrcu_word_read(void)
{
    struct rtrcu_thread *self = sim_self();
    return (rtrcu_load_relaxed(&self->word) & RTRCU_INSIDE_MASK) | rtrcu_load_relaxed(&self->flag) << 24;
}

#endif

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The explored build's version of include/rtrcu/detail/reader.h, for both layouts of the reader word.
 * It is compiled as for aarch64, except that the thread's address is the simulated thread's.  On x86-64 enter, leave
 * and read are one instruction each, whose effects are modelled here.  The machine selects the layout by sim_two_words.
 */
#ifndef SIM_RTRCU_DETAIL_READER_H
#define SIM_RTRCU_DETAIL_READER_H

/* All headers that the real text includes, before the machine's name changes. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rtrcu/detail/atomic.h>
#include <rtrcu/detail/fence.h>

#include "sim.h"

/* The real function is declared with (void) and called with ().  The first becomes a function that is never called. */
#define rtrcu_self_address(void_or_nothing) sim_address_##void_or_nothing()
#define sim_address_() sim_self()
#define rtrcu_word_enter rtrcu_word_enter_aarch64
#define rtrcu_word_leave rtrcu_word_leave_aarch64
#define rtrcu_word_read rtrcu_word_read_aarch64
#pragma push_macro("__x86_64__")
#undef __x86_64__
#define __aarch64__ 1
#include_next <rtrcu/detail/reader.h>
#undef __aarch64__
#pragma pop_macro("__x86_64__")
#undef rtrcu_word_enter
#undef rtrcu_word_leave
#undef rtrcu_word_read
#define rtrcu_self (*sim_self())

/* The sign bit of the result is the flag's "fast" bit. */
#define SIM_IS_SLOW(word) (((word)&0x80000000u) == 0)

static inline bool rtrcu_word_enter_x86(void)
{
    uint32_t word = sim_owner_add(&sim_self()->word, 1, 4, SIM_RELEASE, "incl word", __func__);
    return SIM_IS_SLOW(word) || word == 0x80000000u; /* an overflow */
}

static inline bool rtrcu_word_leave_x86(void)
{
    return SIM_IS_SLOW(sim_owner_add(&sim_self()->word, UINT32_MAX, 4, SIM_RELEASE, "decl word", __func__));
}

static inline bool rtrcu_word_enter(void)
{
    return sim_two_words ? rtrcu_word_enter_aarch64() : rtrcu_word_enter_x86();
}

static inline bool rtrcu_word_leave(void)
{
    return sim_two_words ? rtrcu_word_leave_aarch64() : rtrcu_word_leave_x86();
}

static inline uint32_t rtrcu_word_read(void)
{
    return sim_two_words ? rtrcu_word_read_aarch64() : rtrcu_load_relaxed(&sim_self()->word);
}

#endif

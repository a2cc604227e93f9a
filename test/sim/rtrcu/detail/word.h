/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The explored build's version of include/rtrcu/detail/word.h: the real text of both machines, one of which the
 * simulated layout selects (sim_two_words). */
#ifndef SIM_RTRCU_DETAIL_WORD_H
#define SIM_RTRCU_DETAIL_WORD_H

#include <assert.h>

#include <rtrcu/detail/reader.h>

#define rtrcu_word_of rtrcu_word_of_x86
#define rtrcu_word_arm rtrcu_word_arm_x86
#define rtrcu_word_disarm rtrcu_word_disarm_x86
#define rtrcu_word_add rtrcu_word_add_x86
#define rtrcu_word_register rtrcu_word_register_x86
#define rtrcu_word_unregister rtrcu_word_unregister_x86
#define rtrcu_word_repair rtrcu_word_repair_x86
#define RTRCU_ONE_WORD
#include_next <rtrcu/detail/word.h>
#undef RTRCU_ONE_WORD
static_assert(sizeof(*rtrcu_word_flag_byte(0)) == 1, "only the text for one word has this function");
#undef rtrcu_word_of
#undef rtrcu_word_arm
#undef rtrcu_word_disarm
#undef rtrcu_word_add
#undef rtrcu_word_register
#undef rtrcu_word_unregister
#undef rtrcu_word_repair
#undef RTRCU_DETAIL_WORD_H
#undef RTRCU_WORD_INITIAL
#undef RTRCU_FLAG_INITIAL

#define rtrcu_word_of rtrcu_word_of_aarch64
#define rtrcu_word_arm rtrcu_word_arm_aarch64
#define rtrcu_word_disarm rtrcu_word_disarm_aarch64
#define rtrcu_word_add rtrcu_word_add_aarch64
#define rtrcu_word_register rtrcu_word_register_aarch64
#define rtrcu_word_unregister rtrcu_word_unregister_aarch64
#define rtrcu_word_repair rtrcu_word_repair_aarch64
#include_next <rtrcu/detail/word.h>
#undef rtrcu_word_of
#undef rtrcu_word_arm
#undef rtrcu_word_disarm
#undef rtrcu_word_add
#undef rtrcu_word_register
#undef rtrcu_word_unregister
#undef rtrcu_word_repair
#undef RTRCU_WORD_INITIAL
#undef RTRCU_FLAG_INITIAL

#define RTRCU_WORD_INITIAL (sim_two_words ? 0 : RTRCU_FLAG_UNREGISTERED << 24)
#define RTRCU_FLAG_INITIAL (sim_two_words ? RTRCU_FLAG_UNREGISTERED : 0)

static inline uint32_t rtrcu_word_of(const struct rtrcu_thread *thread)
{
    return sim_two_words ? rtrcu_word_of_aarch64(thread) : rtrcu_word_of_x86(thread);
}

static inline void rtrcu_word_arm(struct rtrcu_thread *thread)
{
    sim_two_words ? rtrcu_word_arm_aarch64(thread) : rtrcu_word_arm_x86(thread);
}

static inline uint32_t rtrcu_word_disarm(struct rtrcu_thread *thread)
{
    return sim_two_words ? rtrcu_word_disarm_aarch64(thread) : rtrcu_word_disarm_x86(thread);
}

static inline uint32_t rtrcu_word_add(struct rtrcu_thread *thread, uint32_t amount)
{
    return sim_two_words ? rtrcu_word_add_aarch64(thread, amount) : rtrcu_word_add_x86(thread, amount);
}

static inline void rtrcu_word_register(struct rtrcu_thread *thread)
{
    sim_two_words ? rtrcu_word_register_aarch64(thread) : rtrcu_word_register_x86(thread);
}

static inline void rtrcu_word_unregister(struct rtrcu_thread *thread)
{
    sim_two_words ? rtrcu_word_unregister_aarch64(thread) : rtrcu_word_unregister_x86(thread);
}

static inline void rtrcu_word_repair(struct rtrcu_thread *thread, bool registered, uint32_t inside)
{
    sim_two_words ? rtrcu_word_repair_aarch64(thread, registered, inside)
                  : rtrcu_word_repair_x86(thread, registered, inside);
}

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How each machine changes the reader word, but for lock and unlock; used inside the library only, by the transitions
 * of src/reader/word.h, which says which thread may make which, from what to what.
 *
 * Here because the layout is the architecture's: one word on x86-64, two elsewhere (see detail/reader.h).
 */
#ifndef RTRCU_DETAIL_WORD_H
#define RTRCU_DETAIL_WORD_H

#include <rtrcu/detail/reader.h>

#if defined(__x86_64__)

#define RTRCU_WORD_INITIAL (RTRCU_FLAG_UNREGISTERED << 24)
#define RTRCU_FLAG_INITIAL 0

static inline uint8_t *rtrcu_word_flag_byte(struct rtrcu_thread *thread)
{
    return (uint8_t *)&thread->word + 3;
}

/* The word as another thread sees it, flag byte on top. */
static inline uint32_t rtrcu_word_of(const struct rtrcu_thread *thread)
{
    return rtrcu_load_acquire(&thread->word);
}

/* A byte store: an update of the owner that is under way may lose it. */
static inline void rtrcu_word_arm(struct rtrcu_thread *thread)
{
    rtrcu_store_release(rtrcu_word_flag_byte(thread), (uint8_t)RTRCU_FLAG_SPECIAL);
}

/* A full fence.  Returns the flag as it was. */
static inline uint32_t rtrcu_word_disarm(struct rtrcu_thread *thread)
{
    return rtrcu_exchange(rtrcu_word_flag_byte(thread), (uint8_t)RTRCU_FLAG_FAST);
}

/* Change nesting or discipline in one instruction that a handler cannot split; a full fence.  Returns the word as it
 * was, elsewhere without its flag. */
static inline uint32_t rtrcu_word_add(struct rtrcu_thread *thread, uint32_t amount)
{
    return rtrcu_fetch_add(&thread->word, amount);
}

/* Nesting stays. */
static inline void rtrcu_word_register(struct rtrcu_thread *thread)
{
    rtrcu_store_release(rtrcu_word_flag_byte(thread), (uint8_t)RTRCU_FLAG_SPECIAL);
}

static inline void rtrcu_word_unregister(struct rtrcu_thread *thread)
{
    rtrcu_store_release(&thread->word, RTRCU_WORD_INITIAL);
}

/* Here a borrow may have reached discipline and flag, so both are set anew, and a registered thread takes one slow path
 * more; where the flag is a word of its own it stays. */
static inline void rtrcu_word_repair(struct rtrcu_thread *thread, bool registered, uint32_t inside)
{
    rtrcu_store_release(&thread->word, (registered ? RTRCU_FLAG_SPECIAL : RTRCU_FLAG_UNREGISTERED) << 24 | inside);
}

#else

#define RTRCU_WORD_INITIAL 0
#define RTRCU_FLAG_INITIAL RTRCU_FLAG_UNREGISTERED

static inline uint32_t rtrcu_word_of(const struct rtrcu_thread *thread)
{
    uint32_t word = rtrcu_load_acquire(&thread->word);
    return (word & RTRCU_INSIDE_MASK) | rtrcu_load_relaxed(&thread->flag) << 24;
}

static inline void rtrcu_word_arm(struct rtrcu_thread *thread)
{
    rtrcu_store_release(&thread->flag, RTRCU_FLAG_SPECIAL);
}

static inline uint32_t rtrcu_word_disarm(struct rtrcu_thread *thread)
{
    uint32_t before = rtrcu_exchange(&thread->flag, RTRCU_FLAG_FAST);
    rtrcu_fence_full();
    return before;
}

static inline uint32_t rtrcu_word_add(struct rtrcu_thread *thread, uint32_t amount)
{
    uint32_t before = rtrcu_fetch_add(&thread->word, amount);
    rtrcu_fence_full();
    return before;
}

static inline void rtrcu_word_register(struct rtrcu_thread *thread)
{
    rtrcu_store_release(&thread->flag, RTRCU_FLAG_SPECIAL);
}

static inline void rtrcu_word_unregister(struct rtrcu_thread *thread)
{
    rtrcu_store_release(&thread->word, 0);
    rtrcu_store_release(&thread->flag, RTRCU_FLAG_UNREGISTERED);
}

static inline void rtrcu_word_repair(struct rtrcu_thread *thread, bool registered, uint32_t inside)
{
    (void)registered; /* the flag is a word of its own, which no borrow reaches */
    rtrcu_store_release(&thread->word, inside);
}

#endif

#endif

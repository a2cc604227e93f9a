/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The slow transitions of the reader word; used inside the library only.
 *
 * Here because the layout is the architecture's: one word on x86-64, two elsewhere (see detail/reader.h).
 * Functions that take a thread act on its word from anywhere; those without act on the caller's.
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

/* The word as another thread sees it. */
static inline uint32_t rtrcu_word_of(const struct rtrcu_thread *thread)
{
    return rtrcu_load_acquire(&thread->word);
}

/* fast -> special, by another thread or a handler's own; an update under way may lose it. */
static inline void rtrcu_word_arm(struct rtrcu_thread *thread)
{
    rtrcu_store_release(rtrcu_word_flag_byte(thread), (uint8_t)RTRCU_FLAG_SPECIAL);
}

/* special -> fast, by the owner; a full fence. */
static inline void rtrcu_word_disarm(struct rtrcu_thread *thread)
{
    rtrcu_exchange(rtrcu_word_flag_byte(thread), (uint8_t)RTRCU_FLAG_FAST);
}

/* Change the discipline bits by the owner, in one instruction that a handler cannot split. */
static inline void rtrcu_word_add(struct rtrcu_thread *thread, uint32_t amount)
{
    rtrcu_fetch_add(&thread->word, amount);
}

/* unregistered | n -> special | n; signals are blocked.  Never fast: what the thread has entered without a record, a
 * task that it has resumed or a place among those that are counted, is left by a slow path. */
static inline void rtrcu_word_register(struct rtrcu_thread *thread)
{
    rtrcu_store_release(rtrcu_word_flag_byte(thread), (uint8_t)RTRCU_FLAG_SPECIAL);
}

/* any | n -> unregistered | 0; signals are blocked. */
static inline void rtrcu_word_unregister(struct rtrcu_thread *thread)
{
    rtrcu_store_release(&thread->word, RTRCU_WORD_INITIAL);
}

/* Repair the word of an unbalanced program, by the owner.  Here a borrow may have reached discipline and flag, so both
 * are set anew, and a registered thread takes one slow path more; where the flag is a word of its own it stays. */
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

static inline void rtrcu_word_disarm(struct rtrcu_thread *thread)
{
    rtrcu_exchange(&thread->flag, RTRCU_FLAG_FAST);
    rtrcu_fence_full();
}

static inline void rtrcu_word_add(struct rtrcu_thread *thread, uint32_t amount)
{
    rtrcu_fetch_add(&thread->word, amount);
    rtrcu_fence_full();
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

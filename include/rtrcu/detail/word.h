/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Changes of the reader word on each processor, except by lock and unlock.  Used inside the library only, by the
 * transitions of src/reader/word.h, which defines which thread may make which transition.
 *
 * It is an installed header since the layout depends on the architecture: one word on x86-64, two elsewhere (see
 * detail/reader.h).
 */
#ifndef RTRCU_DETAIL_WORD_H
#define RTRCU_DETAIL_WORD_H

#include <rtrcu/detail/reader.h>

#if defined(RTRCU_ONE_WORD)

#define RTRCU_WORD_INITIAL (RTRCU_FLAG_UNREGISTERED << 24)
#define RTRCU_FLAG_INITIAL 0

static inline uint8_t *rtrcu_word_flag_byte(struct rtrcu_thread *thread)
{
    return (uint8_t *)&thread->word + 3;
}

/* The word as another thread sees it, with the flag in the top byte. */
static inline uint32_t rtrcu_word_of(const struct rtrcu_thread *thread)
{
    return rtrcu_load_acquire(&thread->word);
}

/* Set the flag, by a byte store: a concurrent update by the owner may overwrite it. */
static inline void rtrcu_word_arm(struct rtrcu_thread *thread)
{
    rtrcu_store_release(rtrcu_word_flag_byte(thread), (uint8_t)RTRCU_FLAG_SPECIAL);
}

/* Clear the flag.  A full fence; returns the previous flag. */
static inline uint32_t rtrcu_word_disarm(struct rtrcu_thread *thread)
{
    return rtrcu_exchange(rtrcu_word_flag_byte(thread), (uint8_t)RTRCU_FLAG_FAST);
}

/* Add @amount to nesting or discipline in one instruction, which no handler interrupts; a full fence.  Returns the
 * previous word; on other processors than x86-64 without its flag. */
static inline uint32_t rtrcu_word_add(struct rtrcu_thread *thread, uint32_t amount)
{
    return rtrcu_fetch_add(&thread->word, amount);
}

/* Set the flag; the nesting is unchanged. */
static inline void rtrcu_word_register(struct rtrcu_thread *thread)
{
    rtrcu_store_release(rtrcu_word_flag_byte(thread), (uint8_t)RTRCU_FLAG_SPECIAL);
}

static inline void rtrcu_word_unregister(struct rtrcu_thread *thread)
{
    rtrcu_store_release(&thread->word, RTRCU_WORD_INITIAL);
}

/* Set the word of a thread that unlocked without a lock: the decrement may have borrowed from discipline and flag.  A
 * registered thread takes one extra slow path.  On processors where the flag is a separate word, the flag is
 * unchanged. */
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
    (void)registered; /* the flag is a separate word, which no borrow reaches */
    rtrcu_store_release(&thread->word, inside);
}

#endif

#endif

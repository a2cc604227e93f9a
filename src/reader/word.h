/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The reader word as a value, and the transitions that change it, except those of lock and unlock.
 *
 * The meaning of its bits: <rtrcu/detail/reader.h>.  How each processor changes them: <rtrcu/detail/word.h>, used only
 * here.  The flag:
 *
 *  before        transition                after
 *  UNREGISTERED  reader_word_register()    SPECIAL
 *  FAST          reader_word_arm()         SPECIAL
 *  SPECIAL       reader_word_arm()         SPECIAL
 *  SPECIAL       reader_word_disarm()      FAST
 *  FAST          reader_word_disarm()      FAST          a concurrent update had lost the flag
 *  any           reader_word_unregister()  UNREGISTERED
 *
 * The thread is inside by its explicit sections (SECTION), by the quiescent-state discipline (ONLINE), or by both
 * (BOTH):
 *
 *  inside        transition                    after
 *  OUTSIDE       reader_word_online()          ONLINE
 *  SECTION       reader_word_online()          BOTH
 *  ONLINE        reader_word_offline()         OUTSIDE
 *  OUTSIDE       reader_word_add_nesting()     SECTION
 *  SECTION       reader_word_add_nesting()     SECTION
 *  ONLINE        reader_word_add_nesting()     BOTH
 *  BOTH          reader_word_add_nesting()     BOTH
 *  SECTION       reader_word_remove_nesting()  SECTION OUTSIDE
 *  BOTH          reader_word_remove_nesting()  BOTH ONLINE
 *  any           reader_word_repair()          OUTSIDE SECTION ONLINE BOTH
 *  any           reader_word_unregister()      OUTSIDE
 *
 * Any thread may call reader_word_arm(), under the leaf lock; only the owner performs the other transitions.  A thread
 * registers and unregisters with signals blocked; a handler finds each other transition either done or not begun.  A
 * repair also rewrites the flag where it shares a word with the nesting, since unlocks without locks may have borrowed
 * from it: SPECIAL if the thread is registered, else UNREGISTERED.
 *
 * INV-RD5: the flag of a thread without a record is neither set nor cleared.
 * INV-RD6: a thread comes online while it is offline, and goes offline while it is online and inside no section.
 * INV-RD7: a thread removes at most as many sections as it has open.
 */
#ifndef RTRCU_READER_WORD_H
#define RTRCU_READER_WORD_H

#include <rtrcu/detail/word.h>

#include "base/base.h"

/* Value: the contents of a reader word. */
struct reader_word {
    uint32_t bits;
};

static inline struct reader_word reader_self_word(void)
{
    return (struct reader_word){rtrcu_word_read()};
}

/* Read any thread's word; an acquire. */
static inline struct reader_word reader_word_of(const struct rtrcu_thread *thread)
{
    return (struct reader_word){rtrcu_word_of(thread)};
}

/* Sections and discipline, 0 = outside. */
static inline uint32_t reader_word_inside(struct reader_word word)
{
    return word.bits & RTRCU_INSIDE_MASK;
}

/* Number of explicit sections. */
static inline uint32_t reader_word_nesting(struct reader_word word)
{
    return word.bits & RTRCU_NESTING_MASK;
}

static inline bool reader_word_is_online(struct reader_word word)
{
    return word.bits & RTRCU_QSBR_ONLINE;
}

static inline bool reader_word_is_fast(struct reader_word word)
{
    return word.bits >> 24 == RTRCU_FLAG_FAST;
}

static inline bool reader_word_is_special(struct reader_word word)
{
    return word.bits >> 24 == RTRCU_FLAG_SPECIAL;
}

/* When a thread registers, set its flag to SPECIAL: a section that it entered without a record or as a counted
 * reader, and a resumed task's section, must end in a slow path. */
static inline void reader_word_register(struct rtrcu_thread *thread)
{
    rtrcu_word_register(thread);
}

static inline void reader_word_unregister(struct rtrcu_thread *thread)
{
    rtrcu_word_unregister(thread);
}

/* Set the flag.  A concurrent update by the owner may overwrite it. */
static inline void reader_word_arm(struct rtrcu_thread *thread)
{
    invariant("INV-RD5", thread->record);
    rtrcu_word_arm(thread);
}

/* A full fence. */
/* Clear the calling thread's flag.  A full fence. */
static inline void reader_word_disarm(void)
{
    uint32_t before = rtrcu_word_disarm(&rtrcu_self);
    invariant("INV-RD5", before != RTRCU_FLAG_UNREGISTERED);
    (void)before;
}

/* A full fence. */
/* Set the calling thread's online bit.  A full fence. */
static inline void reader_word_online(void)
{
    struct reader_word before = {rtrcu_word_add(&rtrcu_self, RTRCU_QSBR_ONLINE)};
    invariant("INV-RD6", !reader_word_is_online(before));
    (void)before;
}

/* A full fence. */
/* Clear the calling thread's online bit.  A full fence. */
static inline void reader_word_offline(void)
{
    struct reader_word before = {rtrcu_word_add(&rtrcu_self, (uint32_t)-RTRCU_QSBR_ONLINE)};
    invariant("INV-RD6", reader_word_inside(before) == RTRCU_QSBR_ONLINE);
    (void)before;
}

/* Add the sections of a task that resumes on the thread.  A full fence. */
static inline void reader_word_add_nesting(uint32_t sections)
{
    rtrcu_word_add(&rtrcu_self, sections);
}

/* Remove the sections of a task that parks.  A full fence. */
static inline void reader_word_remove_nesting(uint32_t sections)
{
    struct reader_word before = {rtrcu_word_add(&rtrcu_self, (uint32_t)-sections)};
    invariant("INV-RD7", reader_word_nesting(before) >= sections);
    (void)before;
}

/* Set the calling thread's word to @inside, after an unlock without a lock.  @registered: it has a record. */
static inline void reader_word_repair(bool registered, uint32_t inside)
{
    rtrcu_word_repair(&rtrcu_self, registered, inside);
}

#endif

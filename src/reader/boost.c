/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The word through which a reader that holds up a grace period is boosted: a PI futex that appears locked by the
 * reader, so that a thread that locks it boosts the reader until the reader unlocks it.
 *
 * The owner releases the word in its slow path, so the booster must not sleep on the word before the flag is known to
 * be set.
 * tested by: test/api/boost.cc
 */
#include "reader/reader.h"

/* See futex(2). */
#define WORD_OWNER UINT32_C(0x3fffffff)

/* [O3] Requesting half: the booster stores the boost word, then the flag.  The owner's half is reader_disarm(): the
 * owner's slow path clears the flag, then reads the boost word. */
bool reader_boost(struct reader_record *record, uint32_t *armed)
{
    uint32_t nobody = 0;
    reader_must_hold(record->leaf);
    if (!rtrcu_compare_exchange(&record->boost, &nobody, reader_thread_id(record).number))
        return false;

    reader_arm(record);
    *armed = record->armed;
    return true;
}

bool reader_boost_confirmed(struct reader_record *record, uint32_t *armed)
{
    reader_arm(record);
    bool untouched = record->armed == *armed;
    *armed = record->armed;
    return untouched;
}

/* Clears the whole boost word, with its waiters bit, if the word names @owner.  Only the booster waits on the word, so
 * no waiter is lost. */
void reader_boost_withdraw(struct reader_record *record, struct plat_tid owner)
{
    uint32_t word = rtrcu_load_relaxed(&record->boost);
    while ((word & WORD_OWNER) == owner.number && !rtrcu_compare_exchange(&record->boost, &word, 0))
        ;
}

/* Clears the calling thread's boost word.  Reentrant: does nothing if a handler has cleared it first. */
bool reader_boost_release(void)
{
    uint32_t *word = rtrcu_self.boost;
    if (!word)
        return false;

    uint32_t mine = lock_thread_number(), seen = rtrcu_load_relaxed(word);
    if ((seen & WORD_OWNER) != mine)
        return false;

    seen = mine;
    return !rtrcu_compare_exchange(word, &seen, 0);
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a scan reads of a reader, and how it asks for the slow path.  The owner takes the flag back in fence_mode.c,
 * since full fences keep it.
 *
 * tested by: test/unit/reader/reader.cc
 */
#include "reader/reader.h"

/* [O1] Scan half; the reader's half is rcu_read_lock() and rcu_read_unlock().
 * Called behind a heavy fence of the grace period.
 *  - the reader's increment first:  the scan sees it inside and waits for it;
 *  - the heavy fence first:         the reader's loads follow it and find the new pointers.
 * And at the other end: the acquire load that reads "outside" comes after every access of the section, whose last store
 * to the word is a release (a store on x86-64 always is).
 * Forbidden: the scan sees outside AND the section reads an old pointer. */
uint32_t reader_inside(const struct reader_record *record)
{
    return reader_word_inside(reader_word_of(record->self));
}

/* [O3] Asking half; the owner's half is reader_disarm().
 * What is asked (a bit in the leaf's node word, a ready callback) is stored before the flag.
 *  - our flag first:     the owner's disarm overwrites it, and what it reads then includes what we asked;
 *  - its disarm first:   our flag stays, and its next slow path finds it.
 * An increment or decrement under way may lose the flag: a thread that depends on it looks again behind a heavy fence.
 * Forbidden: the flag is gone AND the owner has not seen what was asked. */
bool reader_arm(struct reader_record *record)
{
    reader_must_hold(record->leaf);
    if (reader_word_is_special(reader_word_of(record->self)))
        return false;

    reader_word_arm(record->self);
    record->armed++;
    return true;
}

/* Not without a record: the flag says so, which leads to the slow path as well and must not be lost. */
void reader_arm_self(void)
{
    if (rtrcu_self.record)
        reader_word_arm(&rtrcu_self);
}

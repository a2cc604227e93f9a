/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reading a reader's word, and setting its flag.  fence_mode.c clears the flag, since full-fence mode keeps it set.
 *
 * tested by: test/unit/reader/reader.cc
 */
#include "reader/reader.h"

/* [O1] Scan half; the reader's half is rcu_read_lock() and rcu_read_unlock().
 * Called after a heavy fence of the grace period.
 *  - The reader's increment first:  the scan sees the reader inside and waits for the reader;
 *  - The heavy fence first:  the reader's loads follow the fence and find the new pointers.
 * The end of a section: every access of the section precedes our acquire load that reads "outside", since the section's
 * last store to the word is a release (a store on x86-64 always is).
 * Forbidden: the scan sees the reader outside AND the section reads an old pointer. */
uint32_t reader_inside(const struct reader_record *record)
{
    return reader_word_inside(reader_word_of(record->self));
}

/* [O3] Requesting half; the owner's half is reader_disarm().
 * The request (a bit in the leaf's node word, a ready callback) is stored before the flag.
 *  - Our flag first:  the owner's disarm overwrites our flag, and the owner's later reads include our request;
 *  - The owner's disarm first:  our flag stays set, and the owner's next slow path finds the request.
 * The owner's increment or decrement may overwrite a flag that is set at the same time: a thread that depends on the
 * flag checks it again after a heavy fence.
 * Forbidden: the flag is lost AND the owner has not seen the request. */
bool reader_arm(struct reader_record *record)
{
    reader_must_hold(record->leaf);
    if (reader_word_is_special(reader_word_of(record->self)))
        return false;

    reader_word_arm(record->self);
    record->armed++;
    return true;
}

/* Does nothing without a record: the flag of such a thread has the value for unregistered threads, which must stay, and
 * which leads to the slow path too. */
void reader_arm_self(void)
{
    if (rtrcu_self.record)
        reader_word_arm(&rtrcu_self);
}

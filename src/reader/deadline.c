/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The slots of deadline threads.  A deadline thread wakes no thread, so while it is online, another thread must poll
 * for its work.
 *
 * tested by: test/api/deadline.cc
 */
#include "reader/reader.h"

void reader_deadline_show(const struct reader_record *record, bool deadline, bool qsbr)
{
    for (int discipline = 0; discipline < 2; discipline++) {
        uint32_t *word = &record->leaf->deadline[discipline], bit = reader_bit(record);
        bool shown = rtrcu_load_relaxed(word) & bit, wanted = deadline && discipline == (qsbr ? 1 : 0);
        if (wanted && !shown)
            rtrcu_fetch_or(word, bit);
        if (!wanted && shown)
            rtrcu_fetch_and(word, ~bit);
    }
}

/* Is a thread of the slots @left online?  The threads of these slots have the quiescent-state discipline. */
static bool is_one_online(struct reader_leaf *leaf, uint32_t left)
{
    struct reader_record *record;
    bool found = false;
    reader_lock(leaf);
    for (left &= reader_registered(leaf); !found && (record = reader_next(leaf, &left));)
        found = reader_inside(record) & RTRCU_QSBR_ONLINE;
    reader_unlock(leaf);
    return found;
}

bool reader_deadline_is_online(struct reader_registry *registry)
{
    if (rtrcu_load_acquire(&registry->deadline_count) == 0)
        return false;

    for (struct reader_leaf *leaf = NULL;
         (leaf = reader_next_scanned(registry, leaf));) { /* deadline threads are always scanned */
        uint32_t discipline = rtrcu_load_acquire(&leaf->deadline[1]);
        if (rtrcu_load_acquire(&leaf->deadline[0]) || (discipline && is_one_online(leaf, discipline)))
            return true;
    }
    return false;
}

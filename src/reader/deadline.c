/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Deadline threads, which wake nobody: whether one is about, for whom somebody must look now and then.
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

/* Of these slots of the quiescent-state discipline. */
static bool is_one_online(struct reader_leaf *leaf, uint32_t left)
{
    bool found = false;
    lock_acquire(&leaf->lock);
    for (left &= rtrcu_load_acquire(&leaf->registered); left && !found; left &= left - 1)
        found = reader_inside(&leaf->records[__builtin_ctz(left)]) & RTRCU_QSBR_ONLINE;
    lock_release(&leaf->lock);
    return found;
}

bool reader_deadline_is_online(struct reader_registry *registry)
{
    bool any = rtrcu_load_acquire(&registry->deadline_count) != 0, found = false;
    for (uint32_t i = 0; any && !found && i < reader_leaf_count(registry); i++) {
        struct reader_leaf *leaf = reader_leaf_at(registry, i);
        uint32_t discipline = leaf ? rtrcu_load_acquire(&leaf->deadline[1]) : 0;
        found = leaf && (rtrcu_load_acquire(&leaf->deadline[0]) || (discipline && is_one_online(leaf, discipline)));
    }
    return found;
}

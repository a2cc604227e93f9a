/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Repair of a thread's reader word after unbalanced locks and unlocks.
 *
 * tested by: test/unit/section/slow.cc
 */
#include "section/section.h"

/* The nesting of a quiescent-state thread after one unlock too many. */
#define NESTING_BORROWED (RTRCU_NESTING_MAX + 1)

/* The discipline bit of @word, as it was before unlocks without locks borrowed from this bit, or from the flag.  0 for
 * a preemptible thread, in whose word all bits but the flag are nesting. */
static uint32_t discipline_of(struct reader_word word)
{
    uint32_t inside = reader_word_inside(word);
    if (inside > (RTRCU_QSBR_ONLINE | RTRCU_NESTING_MASK) || !reader_self_is(READER_STATE_QSBR))
        return 0;
    return inside >= NESTING_BORROWED ? RTRCU_QSBR_ONLINE : 0;
}

/* The thread's nesting; negative after unlocks without locks. */
static int32_t nesting_of(struct reader_word word)
{
    return (int32_t)((reader_word_inside(word) - discipline_of(word)) << 8) >> 8;
}

static void repair(struct gp *gp, uint32_t nesting)
{
    uint32_t base = discipline_of(reader_self_word());
    complain(reader_misuse(gp_registry(gp), READER_MISUSE_UNLOCK),
             "rtrcu: thread %u: rcu_read_unlock() without rcu_read_lock(); ignored", lock_thread_number());
    reader_word_repair(reader_self() != NULL, base + nesting);
}

bool section_repair(struct gp *gp)
{
    bool broken = nesting_of(reader_self_word()) < 0;
    if (broken)
        repair(gp, 0);
    return broken;
}

void section_repair_lock(struct gp *gp)
{
    if (nesting_of(reader_self_word()) <= 0)
        repair(gp, 1);
}

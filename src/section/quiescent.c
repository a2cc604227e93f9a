/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Quiescent-state discipline: inside from one quiescent state to the next, outside while offline.
 *
 * tested by: test/unit/section/section.cc
 */
#include "section/section.h"

bool section_may_go_offline(struct gp *gp)
{
    (void)section_repair(gp);
    return (rtrcu_word_read() & RTRCU_INSIDE_MASK) == RTRCU_QSBR_ONLINE;
}

static enum gp_actions report(struct gp *gp)
{
    reader_slow_begin();
    enum gp_actions actions = section_report(gp);
    reader_slow_end();
    return actions;
}

enum gp_actions section_quiescent_slow(struct gp *gp)
{
    uint32_t word = rtrcu_word_read();
    if (!reader_self())
        return GP_ACTION_NONE;
    if (section_repair(gp))
        word = rtrcu_word_read();
    if (word & RTRCU_NESTING_MASK) {
        if (CHECK_DEBUG && (word & RTRCU_QSBR_ONLINE))
            plat_die("rtrcu: thread %u: rcu_quiescent_state() inside a read-side critical section\n", lock_thread_id());
        return GP_ACTION_NONE;
    }
    invariant("INV-SE1", (rtrcu_word_read() & RTRCU_NESTING_MASK) == 0);
    return report(gp);
}

enum gp_actions section_offline(struct gp *gp)
{
    (void)section_repair(gp);
    if (!(rtrcu_word_read() & RTRCU_QSBR_ONLINE))
        return GP_ACTION_NONE;
    if (rtrcu_word_read() & RTRCU_NESTING_MASK) {
        complain(reader_misuse(gp_registry(gp), READER_MISUSE_OFFLINE),
                 "rtrcu: thread %u: rcu_thread_offline() inside a read-side critical section; ignored",
                 lock_thread_id());
        return GP_ACTION_NONE;
    }
    rtrcu_tsan_release(rtrcu_read_unlock_slow);
    rtrcu_word_add(&rtrcu_self, (uint32_t)-RTRCU_QSBR_ONLINE); /* [O22] */
    return rtrcu_word_read() >> 24 == RTRCU_FLAG_FAST ? GP_ACTION_NONE : report(gp);
}

/* [O1] with a full fence of our own: after it a grace period sees us inside, or we see what it waits for. */
void section_online(struct gp *gp)
{
    (void)gp;
    if (!reader_self_is(READER_STATE_QSBR) || (rtrcu_word_read() & RTRCU_QSBR_ONLINE))
        return;
    reader_slow_begin(); /* until the word says it [O26] */
    reader_wake();
    rtrcu_word_add(&rtrcu_self, RTRCU_QSBR_ONLINE);
    reader_slow_end();
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Quiescent-state discipline: inside from one quiescent state to the next, outside while offline.
 *
 * tested by: test/unit/section/section.cc
 */
#include "section/section.h"

bool section_may_go_offline(struct gp *gp)
{
    (void)section_repair(gp);
    return reader_word_inside(reader_self_word()) == RTRCU_QSBR_ONLINE;
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
    struct reader_word word = reader_self_word();
    if (!reader_self())
        return GP_ACTION_NONE;

    if (section_repair(gp))
        word = reader_self_word();
    if (reader_word_nesting(word) != 0) {
        if (CHECK_DEBUG && reader_word_is_online(word))
            plat_die("rtrcu: thread %u: rcu_quiescent_state() inside a read-side critical section; call it after"
                     " rcu_read_unlock()\n",
                     lock_thread_number());
        return GP_ACTION_NONE;
    }

    invariant("INV-SE1", section_nesting() == 0);
    return report(gp);
}

enum gp_actions section_offline(struct gp *gp)
{
    (void)section_repair(gp);
    if (!reader_word_is_online(reader_self_word()))
        return GP_ACTION_NONE;

    if (section_nesting() != 0) {
        complain(reader_misuse(gp_registry(gp), READER_MISUSE_OFFLINE),
                 "rtrcu: thread %u: rcu_thread_offline() inside a read-side critical section; ignored",
                 lock_thread_number());
        return GP_ACTION_NONE;
    }

    rtrcu_tsan_release(rtrcu_read_unlock_slow);
    reader_word_offline(); /* [O22] */
    return reader_word_is_fast(reader_self_word()) ? GP_ACTION_NONE : report(gp);
}

/* Bring a quiescent-state thread online.  [O1] by a full fence of our own: a grace period sees us inside, or our loads
 * after the fence find new pointers. */
void section_online(struct gp *gp)
{
    (void)gp;
    if (!reader_self_is(READER_STATE_QSBR) || reader_word_is_online(reader_self_word()))
        return;

    reader_slow_begin(); /* counted until the word shows the thread online [O26] */
    reader_idle_exit();
    reader_word_online();
    reader_slow_end();
}

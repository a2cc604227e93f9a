/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Slow path of a thread outside any section whose flag is set: clear the flag, report, end the boost.
 *
 * tested by: test/unit/section/slow.cc
 */
#include "section/section.h"

enum gp_actions section_anonymous_leave(struct gp *gp)
{
    if (!reader_self_is(READER_STATE_ANONYMOUS))
        return GP_ACTION_NONE;

    enum reader_phase phase = reader_self_phase(gp_registry(gp));
    reader_self_clear(READER_STATE_ANONYMOUS | READER_STATE_ODD);
    return gp_report_anonymous(gp, phase);
}

/* True if the thread's bit may be cleared.  Tasks that parked on this thread are promoted first [O14].  While no grace
 * period waits for the thread, these tasks stay on the thread's own list, and the bit must not be cleared: a scan may
 * set the bit at this moment, and a task that parked after that scan's promotion is on this list alone.  The next
 * gp_poll() promotes that task and clears the bit. */
static bool tasks_permit_report(struct gp *gp, struct reader_record *record, enum gp_actions *actions)
{
    if (parked_on_thread(record) == 0) /* [O15] */
        return true;
    if (!reader_kinds_any(gp_waits_for_thread(gp, record)))
        return false;

    reader_lock(reader_leaf_of(record));
    bool all = gp_promote(gp, record);
    reader_unlock(reader_leaf_of(record));

    if (!all) /* the poll promotes the rest: an unlock must not take longer with more tasks */
        *actions |= GP_ACTION_WAKE_NORMAL | GP_ACTION_WAKE_EXPEDITED;
    return all;
}

enum gp_actions section_report(struct gp *gp)
{
    struct reader_record *record = reader_self();
    enum gp_actions actions = GP_ACTION_NONE;

    if (lock_any_held(SECTION_LOCKS))
        return GP_ACTION_NONE; /* a handler interrupted a lock's holder: the flag stays set for a later slow path */

    reader_disarm(gp_registry(gp)); /* a full fence: earlier reads happen before the report */

    if (tasks_permit_report(gp, record, &actions))
        actions |= gp_report(gp, record);
    if (reader_boost_release()) /* the boost ends after the report, which needs its priority */
        actions |= GP_ACTION_UNLOCK_PI;

    return actions;
}

/* The thread is outside and its flag is set: clear the flag, then read the requests. */
enum gp_actions section_leave_outermost(struct gp *gp)
{
    enum gp_actions actions = GP_ACTION_NONE;

    if (!reader_self() || reader_self_is(READER_STATE_ANONYMOUS)) {
        sigset_t saved;
        plat_signals_block(&saved);
        if (reader_word_inside(reader_self_word()) == 0)
            actions = section_anonymous_leave(gp);
        plat_signals_restore(&saved);
    }

    return actions | (reader_self() ? section_report(gp) : GP_ACTION_NONE);
}

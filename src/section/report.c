/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a thread does that is outside and was asked: it takes the flag back, reports, ends its boost.
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

/* Tasks that parked here are promoted before the thread's bit is cleared [O14]; while nobody waits for the thread they
 * stay on its own list.  Then nothing may be cleared either: a scan may set the bit at this moment, and a task that
 * parked behind that scan's promotion stands on this list alone.  The next gp_poll() promotes it and clears the bit. */
static bool tasks_permit_report(struct gp *gp, struct reader_record *record, enum gp_actions *actions)
{
    if (parked_on_thread(record) == 0) /* [O15] */
        return true;
    if (!reader_kinds_any(gp_waits_for_thread(gp, record)))
        return false;

    reader_lock(reader_leaf_of(record));
    bool all = gp_promote(gp, record);
    reader_unlock(reader_leaf_of(record));

    if (!all) /* the rest is the poll's: an unlock must not last for as long as tasks are many */
        *actions |= GP_ACTION_WAKE_NORMAL | GP_ACTION_WAKE_EXPEDITED;
    return all;
}

enum gp_actions section_report(struct gp *gp)
{
    struct reader_record *record = reader_self();
    enum gp_actions actions = GP_ACTION_NONE;

    if (lock_any_held(SECTION_LOCKS))
        return GP_ACTION_NONE; /* a handler interrupted the holder: the flag stays, and a later slow path reports */

    reader_disarm(gp_registry(gp)); /* a full fence: what was read before is read before the report */

    if (tasks_permit_report(gp, record, &actions))
        actions |= gp_report(gp, record);
    if (reader_boost_release()) /* behind the report: until then the priority is needed */
        actions |= GP_ACTION_UNLOCK_PI;

    return actions;
}

/* The thread is outside and asked: take the flag back, then read what is asked. */
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

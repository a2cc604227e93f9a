/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Slow paths of rcu_read_lock() and rcu_read_unlock(), taken when the flag is set.
 *
 * tested by: test/unit/section/section.cc
 */
#include "section/section.h"

static void slow_begin(void)
{
    reader_slow_begin();
    if (reader_self())
        reader_count_slow(reader_self());
}

/* Count a thread without a record while it is inside. [O1] by a full fence on both sides. */
static void anonymous_enter(struct gp *gp)
{
    if (reader_self_is(READER_STATE_ANONYMOUS))
        return;

    enum reader_phase phase = reader_self_phase(gp_registry(gp));
    reader_self_set(READER_STATE_ANONYMOUS | (phase == READER_PHASE_ODD ? READER_STATE_ODD : 0));
    reader_anonymous_enter(gp_registry(gp), phase);
}

void section_lock_slow(struct gp *gp)
{
    slow_begin();
    section_repair_lock(gp);

    if (reader_self() == NULL && section_record(gp) == NULL) {
        sigset_t saved;
        plat_signals_block(&saved);
        anonymous_enter(gp);
        plat_signals_restore(&saved);
    }

    reader_idle_exit();
    reader_sleep_interrupted();

    /* [O1] in full-fence mode; [O7] a slow path that began after the switch's fence reads the mode. */
    if (reader_fences_are_full(gp_registry(gp)))
        rtrcu_fence_full();

    reader_slow_end();
}

enum gp_actions section_unlock_slow(struct gp *gp)
{
    enum gp_actions actions = GP_ACTION_NONE;
    slow_begin();

    if (!section_repair(gp))
        actions = section_task_done(gp);
    if (reader_word_inside(reader_self_word()) == 0)
        actions |= section_leave_outermost(gp); /* INV-SE1: the thread is outside */

    reader_slow_end();
    return actions;
}

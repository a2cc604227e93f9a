/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What rcu_read_lock() and rcu_read_unlock() do when the flag is set, and the repair of unbalanced programs.
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

/* A thread without a record is counted while it is inside. [O1] by a full fence on both sides. */
static void anonymous_enter(struct gp *gp)
{
    if (reader_self_is(READER_STATE_ANONYMOUS))
        return;
    reader_self_set(READER_STATE_ANONYMOUS);
    reader_anonymous_enter(gp_registry(gp));
}

unsigned int section_anonymous_leave(struct gp *gp)
{
    if (!reader_self_is(READER_STATE_ANONYMOUS))
        return GP_ACTION_NONE;
    reader_self_clear(READER_STATE_ANONYMOUS);
    return gp_report_anonymous(gp);
}

/* What an unlock too many leaves where the nesting was: no program nests so deep. */
#define NESTING_BORROWED ((RTRCU_NESTING_MASK + 1) / 2)

/* The discipline that the word had before unlocks without locks borrowed from it, or from the flag. */
static uint32_t discipline_of(uint32_t word)
{
    uint32_t inside = word & RTRCU_INSIDE_MASK;
    if (inside > (RTRCU_QSBR_ONLINE | RTRCU_NESTING_MASK))
        return 0;
    return inside >= NESTING_BORROWED ? RTRCU_QSBR_ONLINE : 0;
}

/* Negative after unlocks without locks. */
static int32_t nesting_of(uint32_t word)
{
    return (int32_t)(((word & RTRCU_INSIDE_MASK) - discipline_of(word)) << 8) >> 8;
}

static void repair(struct gp *gp, uint32_t nesting)
{
    uint32_t base = discipline_of(rtrcu_word_read());
    complain(reader_misuse(gp_registry(gp), READER_MISUSE_UNLOCK),
             "rtrcu: thread %u: rcu_read_unlock() without rcu_read_lock(); ignored", lock_thread_id());
    rtrcu_word_repair(&rtrcu_self, reader_self() != NULL, base + nesting);
}

bool section_repair(struct gp *gp)
{
    bool broken = nesting_of(rtrcu_word_read()) < 0;
    if (broken)
        repair(gp, 0);
    return broken;
}

void section_lock_slow(struct gp *gp)
{
    slow_begin();
    if (nesting_of(rtrcu_word_read()) <= 0)
        repair(gp, 1); /* an unlock too many came first, and this lock only undid it */
    if (reader_self() == NULL && section_record(gp) == NULL) {
        sigset_t saved;
        plat_signals_block(&saved);
        anonymous_enter(gp);
        plat_signals_restore(&saved);
    }
    reader_away_interrupted();
    /* [O1] in full-fence mode; [O7] a slow path that began after the switch's fence reads the mode. */
    if (reader_fences_are_full(gp_registry(gp)))
        rtrcu_fence_full();
    reader_slow_end();
}

/* Tasks that parked here are promoted before the thread's bit is cleared [O14]; while nobody waits for the thread they
 * stay on its own list.  Then nothing may be cleared either: a scan may set the bit at this moment, and a task that
 * parked behind that scan's promotion stands on this list alone.  The next gp_poll() promotes it and clears the bit. */
static bool tasks_permit_report(struct gp *gp, struct reader_record *record, unsigned int *actions)
{
    if (parked_on_thread(record) == 0) /* [O15] */
        return true;
    if (!gp_waits_for_thread(gp, record))
        return false;
    reader_lock(reader_leaf_of(record));
    bool all = gp_promote(gp, record);
    reader_unlock(reader_leaf_of(record));
    if (!all) /* an unlock does not go on for as long as tasks are many */
        *actions |= GP_ACTION_WAKE_NORMAL | GP_ACTION_WAKE_EXPEDITED;
    return all;
}

unsigned int section_report(struct gp *gp)
{
    struct reader_record *record = reader_self();
    unsigned int actions = GP_ACTION_NONE;
    if (lock_any_held(SECTION_LOCKS))
        return GP_ACTION_NONE; /* a handler interrupted its holder: the flag stays, and a later slow path reports */
    reader_disarm(gp_registry(gp)); /* a full fence: what was read before is read before the report */
    if (tasks_permit_report(gp, record, &actions))
        actions |= gp_report(gp, record);
    if (reader_lent_release()) /* behind the report: until then the priority is needed */
        actions |= GP_ACTION_UNLOCK_PI;
    return actions;
}

/* The thread is outside and asked: take the flag back, then read what is asked. */
unsigned int section_leave_outermost(struct gp *gp)
{
    unsigned int actions = GP_ACTION_NONE;
    if (!reader_self() || reader_self_is(READER_STATE_ANONYMOUS)) {
        sigset_t saved;
        plat_signals_block(&saved);
        if ((rtrcu_word_read() & RTRCU_INSIDE_MASK) == 0)
            actions = section_anonymous_leave(gp);
        plat_signals_restore(&saved);
    }
    return actions | (reader_self() ? section_report(gp) : GP_ACTION_NONE);
}

unsigned int section_unlock_slow(struct gp *gp)
{
    unsigned int actions = GP_ACTION_NONE;
    slow_begin();
    if (!section_repair(gp))
        actions = section_task_done(gp);
    if ((rtrcu_word_read() & RTRCU_INSIDE_MASK) == 0)
        actions |= section_leave_outermost(gp); /* INV-SE1 by this test */
    reader_slow_end();
    return actions;
}

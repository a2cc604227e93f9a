/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Registration of a thread: at its first use, even in a signal handler, or by its call.
 *
 * tested by: test/unit/section/section.cc
 */
#include "section/section.h"

/* Register the calling thread.  Signals are blocked: a handler must not register the thread a second time. */
static void register_without_signals(struct gp *gp)
{
    if (reader_self() || reader_self_is(READER_STATE_EXITED))
        return;

    struct reader_record *record = reader_slot_take(gp_registry(gp));
    bool armed = reader_exit_arm(gp_registry(gp)) == 0; /* needed without a record too: the hook ends open sections */

    if (!record)
        return;
    if (!armed) {
        /* Without the hook the record would outlive the thread's memory. */
        reader_slot_return(record);
        return;
    }

    reader_publish(gp_registry(gp), record, &rtrcu_self);
}

struct reader_record *section_record(struct gp *gp)
{
    if (!reader_self()) {
        sigset_t saved;
        plat_signals_block(&saved);
        register_without_signals(gp);
        plat_signals_restore(&saved);
    }
    return reader_self();
}

int section_register(struct gp *gp, unsigned int flags)
{
    if (section_nesting() != 0)
        return -EBUSY;

    if (!reader_self()) /* not in a handler, so memory for the exit hook may be allocated */
        (void)reader_exit_reserve(gp_registry(gp));
    if (!section_record(gp))
        return -ENOMEM;

    check((flags & RTRCU_QSBR) || !reader_word_is_online(reader_self_word()));

    reader_self_register_as(gp_registry(gp), flags);
    reader_self_set(READER_STATE_EXPLICIT);

    section_online(gp);
    return 0;
}

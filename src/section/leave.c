/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Unregistration of a thread: by its call, or at its exit, with the sections and tasks that it leaves open.
 *
 * tested by: test/unit/section/thread.cc
 */
#include "section/section.h"

enum gp_actions section_leave(struct gp *gp, bool exiting)
{
    sigset_t saved;
    enum gp_actions actions = GP_ACTION_NONE;
    plat_signals_block(&saved);
    struct reader_record *record = reader_self();
    bool open = exiting && section_nesting() != 0;

    if (open)
        complain(reader_misuse(gp_registry(gp), READER_MISUSE_EXIT),
                 "rtrcu: thread %u exits inside a read-side critical section (nesting %u); the library ends it",
                 lock_thread_number(), section_nesting());

    if (record) {
        rtrcu_tsan_release(rtrcu_read_unlock_slow);
        actions = section_task_abandon(gp);

        reader_lock(reader_leaf_of(record));

        /* The lock is released between two bounded promotions, so a thread that waits for it does not wait for all
         * tasks. */
        while (!gp_promote(gp, record)) { /* ends: no more tasks can park on this thread */
            reader_unlock(reader_leaf_of(record));
            reader_lock(reader_leaf_of(record));
        }

        reader_self_register_as(gp_registry(gp), 0); /* before another thread can take the slot */
        reader_withdraw(gp_registry(gp), record);
        reader_self_clear(READER_STATE_EXPLICIT);
        actions |= gp_report(gp, record); /* under the lock: the slot's next thread must not inherit the bit */

        if (reader_boost_release())
            actions |= GP_ACTION_UNLOCK_PI;
        reader_release_slot(record, READER_PARKED); /* the thread's tasks were promoted */
        reader_unlock(reader_leaf_of(record));
    } else if (open) {
        rtrcu_tsan_release(rtrcu_read_unlock_slow);
        actions = section_task_abandon(gp);
        reader_word_unregister(&rtrcu_self);
    }

    actions |= section_anonymous_leave(gp);
    if (exiting)
        reader_self_set(READER_STATE_EXITED); /* no record from now on: the exit hook may not run again to free it */
    plat_signals_restore(&saved);

    return actions;
}

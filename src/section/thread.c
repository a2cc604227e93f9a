/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads come and go: registration at first use, from a signal handler too, and leaving at exit.
 *
 * tested by: test/unit/section/section.cc
 */
#include "section/section.h"

/* Signals are blocked: a handler must not register the thread a second time. */
static void register_blocked(struct gp *gp)
{
    if (rtrcu_self.record || (rtrcu_self.state & READER_STATE_GONE))
        return;
    struct reader_record *record = reader_slot_take(gp->registry);
    if (!record)
        return;
    if (plat_thread_exit_arm(gp->registry->exit_key, &rtrcu_self) != 0) {
        /* Without the hook the record would outlive the thread's memory. */
        rtrcu_fetch_and(&record->leaf->used, ~reader_bit(record));
        return;
    }
    reader_publish(gp->registry, record, &rtrcu_self);
}

struct reader_record *section_record(struct gp *gp)
{
    if (rtrcu_self.record == NULL) {
        sigset_t saved;
        plat_signals_block(&saved);
        register_blocked(gp);
        plat_signals_restore(&saved);
    }
    return rtrcu_self.record;
}

static void set_flag(struct reader_registry *registry, const struct reader_record *record, unsigned int flags)
{
    bool was_deadline = rtrcu_self.state & READER_STATE_DEADLINE;
    reader_deadline_show(record, flags & RTRCU_DEADLINE, flags & RTRCU_QSBR);
    if ((flags & RTRCU_DEADLINE) && !was_deadline)
        rtrcu_fetch_add(&registry->deadline_count, 1);
    if (!(flags & RTRCU_DEADLINE) && was_deadline)
        rtrcu_fetch_add(&registry->deadline_count, (uint32_t)-1);
    rtrcu_self.state &= ~(uint32_t)(READER_STATE_DEADLINE | READER_STATE_QSBR);
    rtrcu_self.state |= (flags & RTRCU_DEADLINE ? READER_STATE_DEADLINE : 0u);
    rtrcu_self.state |= (flags & RTRCU_QSBR ? READER_STATE_QSBR : 0u);
}

int section_register(struct gp *gp, unsigned int flags)
{
    if (section_nesting() != 0)
        return -EBUSY;
    if (!rtrcu_self.record) /* ordinary context: here the exit hook may allocate */
        (void)plat_thread_exit_reserve(gp->registry->exit_key, &rtrcu_self);
    if (!section_record(gp))
        return -ENOMEM;
    check((flags & RTRCU_QSBR) || !(rtrcu_word_read() & RTRCU_QSBR_ONLINE));
    set_flag(gp->registry, rtrcu_self.record, flags);
    section_online(gp);
    return 0;
}

unsigned int section_leave(struct gp *gp, bool exiting)
{
    sigset_t saved;
    unsigned int actions = GP_ACTION_NONE;
    plat_signals_block(&saved);
    struct reader_record *record = rtrcu_self.record;
    if (record) {
        if (exiting && section_nesting() != 0)
            complain(reader_misuse(gp_registry(gp), READER_MISUSE_EXIT),
                     "rtrcu: thread %u exits inside a read-side critical section (nesting %u); closed",
                     lock_thread_id(), section_nesting());
        rtrcu_tsan_release(rtrcu_read_unlock_slow);
        actions = section_task_abandon(gp);
        lock_acquire(&record->leaf->lock);
        while (!gp_promote(gp, record)) { /* its tasks stay behind on the leaf's list; no more can park here */
            lock_release(&record->leaf->lock);
            lock_acquire(&record->leaf->lock);
        }
        reader_withdraw(gp->registry, record);
        actions |= gp_report(gp, record); /* under the lock: the slot's next thread must not inherit the bit */
        if (reader_lent_release())
            actions |= GP_ACTION_UNLOCK_PI;
        set_flag(gp->registry, record, 0); /* while the slot is ours */
        reader_slot_free(record);
        lock_release(&record->leaf->lock);
        actions |= section_anonymous_leave(gp);
    }
    if (exiting)
        rtrcu_self.state |= READER_STATE_GONE; /* the hook may not run again: from now on counted without a record */
    plat_signals_restore(&saved);
    return actions;
}

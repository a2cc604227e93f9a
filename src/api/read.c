/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Entry points of readers and threads.
 *
 * tested by: test/api/readers.cc
 */
#include "api/api.h"

void rtrcu_read_lock_slow(void)
{
    api_init();
    section_lock_slow(&rtrcu_domain.gp);
}

/* A driver without a thread works where the program's threads are outside and may take a moment: never in an unlock,
 * which is wait-free, and never on a deadline thread, which would wait for a lock of somebody else's. */
static void drive_quiescent(void)
{
    const struct drive_driver *row = drive_row(&rtrcu_domain.drive);
    bool may_work = section_nesting() == 0 && rtrcu_self.locks_held == 0 && !(rtrcu_self.state & READER_STATE_DEADLINE);
    if (row->quiescent && may_work)
        row->quiescent(&rtrcu_domain.drive);
}

void rtrcu_read_unlock_slow(void)
{
    drive_perform(&rtrcu_domain.drive, section_unlock_slow(&rtrcu_domain.gp));
}

void rtrcu_read_lock_bh(void)
{
    rcu_read_lock();
    rtrcu_self.bh++;
    rtrcu_self.state |= READER_STATE_BH;
}

void rtrcu_read_unlock_bh(void)
{
    rtrcu_self.bh--;
    rcu_read_unlock();
}

/* Owner policies invoke here; a callback may call this, and then nothing happens. */
static uint64_t invoke_own(int64_t budget_ns)
{
    struct domain *domain = &rtrcu_domain;
    struct reader_record *record = rtrcu_self.record;
    const struct callback_policy *policy = callback_policy_of(callback_config(&domain->cb)->policy);
    if (!record || (rtrcu_self.state & READER_STATE_CALLBACK) || section_nesting() != 0)
        return 0;
    if (!callback_has_ready(record))
        return 0;
    bool deadline_thread = rtrcu_self.state & READER_STATE_DEADLINE;
    struct callback_budget budget = {.by_owner = true, .may_wait = !deadline_thread};
    policy->owner_budget(&domain->cb, record, budget_ns, &budget);
    uint64_t done = budget.count_max ? callback_invoke(&domain->cb, record, &budget) : 0;
    bool left = callback_has_ready(record);
    if (policy->owner_done && done)
        policy->owner_done(&domain->cb, record, done, left);
    if (left && policy->punts && rtrcu_load_relaxed(&record->quota) == 0 && !deadline_thread)
        (void)drive_krcud_give(&domain->drive, record, drive_cpu_of(&domain->drive, record), true);
    if (done && !deadline_thread)
        drive_progress(&domain->drive);
    return done;
}

/* Ready callbacks that the owner is to run: its next quiescent state takes the slow path. */
static void ask_for_owner(void)
{
    struct reader_record *record = rtrcu_self.record;
    bool owner_runs = callback_policy_of(callback_config(&rtrcu_domain.cb)->policy)->owner_runs;
    if (record && owner_runs && (rtrcu_self.state & READER_STATE_QSBR) && callback_has_ready(record))
        reader_arm_self();
}

void rtrcu_quiescent_state_slow(void)
{
    drive_perform(&rtrcu_domain.drive, section_quiescent_slow(&rtrcu_domain.gp));
    drive_quiescent();
    invoke_own(0);
    ask_for_owner(); /* the budget left some: come back at the next quiescent state */
}

unsigned long rtrcu_process_callbacks(int64_t budget_ns)
{
    drive_quiescent();
    return (unsigned long)invoke_own(budget_ns);
}

int rtrcu_register_thread(unsigned int flags)
{
    api_init();
    if (flags & ~(RTRCU_QSBR | RTRCU_DEADLINE))
        return -EINVAL;
    if (section_nesting() != 0)
        return -EBUSY;
    if (drive_start_surely(&rtrcu_domain.drive) != 0)
        return -EAGAIN; /* nobody would turn grace periods for a thread that makes no driver itself */
    if (!(flags & RTRCU_QSBR) && section_may_go_offline(&rtrcu_domain.gp))
        drive_perform(&rtrcu_domain.drive, section_offline(&rtrcu_domain.gp));
    int error = section_register(&rtrcu_domain.gp, flags);
    if (error)
        return error;
    if (flags & RTRCU_DEADLINE)
        drive_rouse(&rtrcu_domain.drive); /* it may sleep without a timeout, and this thread will not wake it later */
    return 0;
}

int rtrcu_unregister_thread(void)
{
    if (section_nesting() != 0)
        return -EBUSY;
    callback_rt_awake(&rtrcu_domain.cb, false);
    drive_perform(&rtrcu_domain.drive, section_leave(&rtrcu_domain.gp, false));
    drive_leave(&rtrcu_domain.drive);
    return 0;
}

void rtrcu_thread_online(void)
{
    section_online(&rtrcu_domain.gp);
    drive_online(&rtrcu_domain.drive);
    ask_for_owner();
}

void rtrcu_thread_offline(void)
{
    drive_perform(&rtrcu_domain.drive, section_offline(&rtrcu_domain.gp));
    drive_quiescent();
}

void rtrcu_rt_awake(bool awake)
{
    callback_rt_awake(&rtrcu_domain.cb, awake);
}

void rtrcu_set_deadline(int64_t deadline_ns)
{
    struct reader_record *record = rtrcu_self.record;
    if (__builtin_expect(!record || !(rtrcu_self.state & READER_STATE_DEADLINE), 0)) {
        unsigned int qsbr = rtrcu_self.state & READER_STATE_QSBR ? RTRCU_QSBR : 0;
        if (rtrcu_register_thread(qsbr | RTRCU_DEADLINE) != 0)
            return;
        record = rtrcu_self.record;
    }
    rtrcu_store_relaxed(&record->deadline_ns, deadline_ns);
}

/* ---- debug builds of programs ---- */

void rtrcu_note_entry(void)
{
    if (section_nesting() == 1)
        rtrcu_store_relaxed(&rtrcu_self.entered, (uintptr_t)__builtin_return_address(0));
}

void rtrcu_assert_qsbr(const char *call)
{
    if ((rtrcu_word_read() & RTRCU_QSBR_ONLINE) == 0)
        plat_die(
            "rtrcu: thread %u: %s() outside the quiescent-state discipline, or offline; register with RTRCU_QSBR and"
            " go online, or use rcu_read_lock()\n",
            lock_thread_id(), call);
}

void rtrcu_check_failed(const char *call, const char *condition, const char *file, int line)
{
    plat_die("rtrcu: %s: neither inside a read-side critical section nor \"%s\" (%s:%d)\n", call, condition, file,
             line);
}

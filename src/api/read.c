/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Entry points of readers and threads.
 *
 * tested by: test/api/readers.cc
 */
#include "api/api.h"

void rtrcu_read_lock_slow(void)
{
    CALL_SCOPE();
    api_init();
    section_lock_slow(&rtrcu_domain.gp);
}

/* Take one step of the driver in the calling thread, if the driver has no thread or, with @asked, if its thread does
 * not run.  Does nothing inside a section, in a handler that interrupted the holder of a lock, and in a deadline
 * thread, which might wait for another thread's lock; then it returns false.  An unlock, which is wait-free, never
 * calls this. */
static bool step(struct serve_call_budget *call_budget, bool asked)
{
    bool may_work = section_nesting() == 0 && !lock_any_held(UINT32_MAX) && !reader_self_is(READER_STATE_DEADLINE);
    if (may_work)
        driver_step_here(&rtrcu_domain.drive.driver, call_budget, asked);
    return may_work;
}

/* Run callbacks of other threads for half of the call's time, if no library thread serves them.  Returns the time that
 * is left for the thread's own callbacks, as callback_invoke_own() takes it. */
static int64_t step_within(int64_t budget_ns, bool asked)
{
    int64_t whole_ns = budget_ns ? budget_ns : config_now(&rtrcu_domain.config)->budget_ns;
    int64_t half_ns = whole_ns - whole_ns / 2;
    struct serve_call_budget call_budget = {.ns = whole_ns < 0 ? PLAT_FOREVER : half_ns};

    (void)step(&call_budget, asked);
    if (call_budget.spent_ns == 0)
        return budget_ns;

    int64_t left_ns = whole_ns - call_budget.spent_ns;
    return left_ns > half_ns ? left_ns : half_ns;
}

void rtrcu_read_unlock_slow(void)
{
    CALL_SCOPE();
    turn_perform(&rtrcu_domain.drive.turn, section_unlock_slow(&rtrcu_domain.gp));
}

void rtrcu_read_lock_bh(void)
{
    rcu_read_lock();
    rtrcu_self.bh++;
    reader_self_set(READER_STATE_BH);
}

void rtrcu_read_unlock_bh(void)
{
    rtrcu_self.bh--;
    rcu_read_unlock();
}

/* With a policy by which owners run callbacks, invoke those of the calling thread. */
static struct callback_own invoke_own(int64_t budget_ns)
{
    struct domain_drive *drive = &rtrcu_domain.drive;
    struct reader_record *record = reader_self();
    struct callback_own own = callback_invoke_own(&rtrcu_domain.cb, budget_ns);
    bool deadline_thread = reader_self_is(READER_STATE_DEADLINE);

    if (own.punted && !deadline_thread)
        (void)serve_daemon_enqueue(&drive->serve, record, serve_cpu_of(&drive->serve, record), true);

    if (own.wanted) /* meanwhile a daemon found the queue claimed; a deadline thread wakes none: the driver polls */
        work_driver_wake(&drive->work, true);

    if (record != reader_self())
        serve_release_slot(record); /* a callback unregistered the thread, whose claim kept the slot in use */

    if (own.done && !deadline_thread)
        serve_progress(&drive->serve);
    return own;
}

void rtrcu_quiescent_state_slow(void)
{
    CALL_SCOPE();
    turn_perform(&rtrcu_domain.drive.turn, section_quiescent_slow(&rtrcu_domain.gp));
    (void)invoke_own(step_within(0, false));
    callback_request_owner(&rtrcu_domain.cb); /* callbacks may be left over: continue at the next quiescent state */
}

/* Set or clear the thread's ready descriptor after a call.  Does nothing if the call was inside a section or a
 * callback, where a call runs no callback. */
static void settle_ready(const struct callback_own *own)
{
    struct reader_record *record = reader_self();
    if (record && section_nesting() == 0 && !reader_self_is(READER_STATE_CALLBACK))
        serve_ready_settle(record, own->stuck);
}

unsigned long rtrcu_process_callbacks(int64_t budget_ns)
{
    CALL_SCOPE();
    struct callback_own own = invoke_own(step_within(budget_ns, true));
    settle_ready(&own);
    return (unsigned long)own.done;
}

int rtrcu_ready_fd(void)
{
    CALL_SCOPE();
    api_init();

    bool ours = reader_self_is(READER_STATE_OURS); /* a thread of the library: it runs callbacks of other threads, and
                                                      has none */
    if (ours || !callback_owner_runs(&rtrcu_domain.cb) || !work_driver_has_thread(&rtrcu_domain.drive.work))
        return -ENOTSUP;

    int error = reader_self() ? 0 : rtrcu_register_thread(0);
    return error ? error : serve_ready_open(reader_self());
}

/* Called by a thread that has come online. */
static void after_online(void)
{
    work_driver_online(&rtrcu_domain.drive.work);
    callback_request_owner(&rtrcu_domain.cb);
}

/* Wake the library's threads for a new deadline thread: they may sleep without a timeout, and a deadline thread does
 * not wake them. */
static void wake_for_deadline(void)
{
    work_driver_wake_always(&rtrcu_domain.drive.work);
    srcu_wake_worker(&rtrcu_domain.srcu);
}

int rtrcu_register_thread(unsigned int flags)
{
    CALL_SCOPE();
    api_init();

    if (flags & ~(RTRCU_QSBR | RTRCU_DEADLINE))
        return -EINVAL;
    if (section_nesting() != 0)
        return -EBUSY;

    struct work_producer known = {0};
    /* Note the class before the driver is created: a real-time thread needs a real-time driver. */
    work_rt_note_at_registration(&rtrcu_domain.drive.work, &known);
    if (work_driver_start_surely(&rtrcu_domain.drive.work) != 0)
        return -EAGAIN; /* without the driver's thread, no thread would advance this thread's grace periods */

    if (!(flags & RTRCU_QSBR) && section_may_go_offline(&rtrcu_domain.gp))
        turn_perform(&rtrcu_domain.drive.turn, section_offline(&rtrcu_domain.gp));

    int error = section_register(&rtrcu_domain.gp, flags);
    if (error)
        return error;

    *serve_producer(reader_self()) = known;
    if (flags & RTRCU_QSBR) /* the thread, perhaps registered before and offline, is online from here on */
        after_online();

    if (plat_sched_rt_priority() > 0)
        turn_expedited_prepare(&rtrcu_domain.drive.turn);

    if (flags & RTRCU_DEADLINE)
        wake_for_deadline();
    return 0;
}

int rtrcu_unregister_thread(void)
{
    CALL_SCOPE();
    if (section_nesting() != 0)
        return -EBUSY;
    api_leave(false);
    return 0;
}

void rtrcu_thread_online(void)
{
    CALL_SCOPE();
    section_online(&rtrcu_domain.gp);
    after_online();
}

void rtrcu_thread_offline(void)
{
    CALL_SCOPE();
    struct serve_call_budget none = {.ns = 0};
    turn_perform(&rtrcu_domain.drive.turn, section_offline(&rtrcu_domain.gp));
    if (step(&none, false))
        work_driver_leave(&rtrcu_domain.drive.work);
}

/* The state lasts until the thread exits, so even a thread that does not read needs an exit hook. */
void rtrcu_rt_awake(bool awake)
{
    CALL_SCOPE();
    if (awake && reader_self_is(READER_STATE_EXITED))
        return;
    if (awake && !reader_self() && reader_exit_reserve(&rtrcu_domain.registry) != 0)
        return;
    callback_rt_awake(&rtrcu_domain.cb, awake);
}

void rtrcu_set_deadline(int64_t deadline_ns)
{
    struct reader_record *record = reader_self();
    if (__builtin_expect(!record || !reader_self_is(READER_STATE_DEADLINE), 0)) {
        unsigned int qsbr = reader_self_is(READER_STATE_QSBR) ? RTRCU_QSBR : 0;
        if (rtrcu_register_thread(qsbr | RTRCU_DEADLINE) != 0)
            return;
        record = reader_self();
    }

    callback_set_deadline(record, deadline_ns);
}

void rtrcu_set_exit_handler(void (*handler)(void))
{
    rtrcu_store_release(&rtrcu_domain.exit_handler, handler);
}

/* ---- debug builds of programs ---- */

void rtrcu_note_entry(void)
{
    if (section_nesting() > RTRCU_NESTING_MAX)
        plat_die("rtrcu: thread %u: read-side critical sections nest deeper than %u\n", lock_thread_number(),
                 (unsigned int)RTRCU_NESTING_MAX);

    if (section_nesting() != 1)
        return;

    rtrcu_store_relaxed(&rtrcu_self.entered, (uintptr_t)__builtin_return_address(0));
    rtrcu_store_relaxed(&rtrcu_self.entered_ns, plat_clock_now());
}

/* Does nothing if the begin of the section was not recorded: by code built without RTRCU_DEBUG, or before its task was
 * resumed. */
void rtrcu_note_leave(void)
{
    int64_t began_ns = rtrcu_self.entered_ns;
    if (section_nesting() != 1 || began_ns == 0)
        return;

    rtrcu_store_relaxed(&rtrcu_self.entered_ns, 0);
    watch_note_section(&rtrcu_domain.watch, (uint64_t)(plat_clock_now() - began_ns),
                       rtrcu_load_relaxed(&rtrcu_self.entered));
}

void rtrcu_assert_qsbr(const char *call)
{
    if (reader_word_is_online(reader_self_word()))
        return;

    if (reader_self_is(READER_STATE_QSBR))
        plat_die(
            "rtrcu: thread %u: %s() of an offline thread protects nothing; call rcu_thread_online() directly after the"
            " wait, before any handler runs, or register without RTRCU_QSBR and use rcu_read_lock() where a loop has"
            " no place for the call: see docs/event-loops.md\n",
            lock_thread_number(), call);
    plat_die("rtrcu: thread %u: %s() outside the quiescent-state discipline; register with RTRCU_QSBR, or use"
             " rcu_read_lock()\n",
             lock_thread_number(), call);
}

void rtrcu_check_held(const char *call, const char *condition, const char *file, int line)
{
    if (!parked_anywhere(&rtrcu_domain.registry))
        rtrcu_check_failed(call, condition, file, line);
}

void rtrcu_check_failed(const char *call, const char *condition, const char *file, int line)
{
    plat_die("rtrcu: %s: neither inside a read-side critical section nor \"%s\" (%s:%d)\n", call, condition, file,
             line);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
// The drivers other than the default, each with one callback and a reader.
#include "scenarios/common.h"

namespace scenarios
{

namespace
{

bool is_invoked()
{
    return invoked == 1;
}

void call_and_wait()
{
    call_rcu(&replace_object()->head, free_callback);
    sim::until(is_invoked);
}

struct rtrcu_config *begin(int32_t driver)
{
    struct rtrcu_config *config = configure();
    use_driver(driver);
    shared = make_object();
    return config;
}

void ltimer_setup()
{
    begin(RTRCU_DRIVER_LTIMER);
    sim::as_thread(sim::thread("reader", read_once), register_reader);
    sim::as_thread(sim::thread("updater", call_and_wait), register_and_start_driver);
}

// Returns whether the driver sleeps until it is woken, as it does when no work is left.
bool driver_is_idle()
{
    return work_thread_sleeps(&rtrcu_domain.drive.work.thread) == WORK_ASLEEP;
}

void call_and_see_it_idle()
{
    call_and_wait();
    sim::until(driver_is_idle);
}

void ltimer_idle_setup()
{
    begin(RTRCU_DRIVER_LTIMER);
    sim::as_thread(sim::thread("updater", call_and_see_it_idle), register_and_start_driver);
}

void poll_setup()
{
    begin(RTRCU_DRIVER_POLL);
    sim::as_thread(sim::thread("reader", read_once), register_reader);
    sim::as_thread(sim::thread("updater", call_and_wait), register_and_start_driver);
}

// ---- sched: the program's own quiescent states do the work ----

void work_until_invoked()
{
    call_rcu(&replace_object()->head, free_callback);
    for (int i = 0; i < 20 && invoked == 0; i++) {
        rcu_quiescent_state();
        sim::step();
    }
    rcu_thread_offline();
    rcu_barrier();
    sim::expect(invoked == 1, "the callback has run once");
}

void sched_setup()
{
    begin(RTRCU_DRIVER_SCHED)->policy = RTRCU_POLICY_INLINE;
    sim::as_thread(sim::thread("owner", work_until_invoked), register_qsbr);
    sim::as_thread(sim::thread("reader", read_once), register_reader);
}

// Two threads share the work, and one of them exits.
void work_and_leave()
{
    use_object();
    rcu_quiescent_state();
    rcu_thread_offline();
}

void sched_two_setup()
{
    begin(RTRCU_DRIVER_SCHED)->policy = RTRCU_POLICY_INLINE;
    sim::as_thread(sim::thread("owner", work_until_invoked), register_qsbr);
    sim::as_thread(sim::thread("other", work_and_leave), register_qsbr);
}

// ---- the driver is changed while another thread requests the first driver ----

void change_driver()
{
    struct rtrcu_config config = *config_now(&rtrcu_domain.config);
    config.driver = RTRCU_DRIVER_LTIMER;
    (void)rtrcu_configure(&config); // refused if the driver already runs
}

void changed_setup()
{
    begin(RTRCU_DRIVER_KTHREAD);
    sim::as_thread(sim::thread("changer", change_driver), register_reader);
    sim::as_thread(sim::thread("updater", call_and_wait), register_reader);
}

// ---- the CPUs of the library's threads are changed while another thread looks them up ----

struct plat_thread_attr other_home;

void change_home()
{
    other_home.nice = 5;
    work_driver_change(&rtrcu_domain.drive.work, rtrcu_domain.drive.work.row, &other_home);
}

void look_it_up()
{
    const struct plat_thread_attr *home = work_attr(&rtrcu_domain.drive.work);
    sim::expect(home->nice == (home == &other_home ? 5 : 0), "a thread that finds the attributes finds them complete");
}

void home_setup()
{
    configure();
    other_home.nice = 0;
    sim::thread("changer", change_home);
    sim::thread("maker", look_it_up);
}

void change_to_sched()
{
    struct rtrcu_config config = *config_now(&rtrcu_domain.config);
    config.driver = RTRCU_DRIVER_SCHED;
    config.policy = RTRCU_POLICY_UNBOUNDED;
    (void)rtrcu_configure(&config);
}

// A thread that passes quiescent states, at which it takes the steps if driver sched is in force, and then waits for
// its callback.
void call_and_pass_by()
{
    call_rcu(&replace_object()->head, free_callback);
    for (int i = 0; i < 6; i++) {
        rcu_quiescent_state();
        sim::step();
    }
    rcu_thread_offline();
    rcu_barrier();
    sim::expect(invoked == 1, "the callback has run once");
}

void changed_to_sched_setup()
{
    begin(RTRCU_DRIVER_KTHREAD);
    sim::as_thread(sim::thread("changer", change_to_sched), register_reader);
    sim::as_thread(sim::thread("updater", call_and_pass_by), register_qsbr);
}

void change_to_kthread()
{
    struct rtrcu_config config = *config_now(&rtrcu_domain.config);
    config.driver = RTRCU_DRIVER_KTHREAD;
    (void)rtrcu_configure(&config);
}

void changed_from_sched_setup()
{
    begin(RTRCU_DRIVER_SCHED)->policy = RTRCU_POLICY_UNBOUNDED;
    sim::as_thread(sim::thread("changer", change_to_kthread), register_reader);
    sim::as_thread(sim::thread("updater", call_and_pass_by), register_qsbr);
}

// ---- the limits change while an owner reads them ----

bool changed;

void change_limits()
{
    struct rtrcu_config config = *config_now(&rtrcu_domain.config);
    config.qhimark = config.qmax = 2;
    config.qlowmark = 1;
    (void)rtrcu_configure(&config);
    changed = true;
}

bool is_changed()
{
    return changed;
}

void look_beside_a_change()
{
    call_rcu(&replace_object()->head, free_callback);
    sim::until(is_changed);
    const struct cb_queue *queue = &callback_slot(reader_self())->queue;
    uint64_t next = rtrcu_load_relaxed(&queue->check_at), last = rtrcu_load_relaxed(&queue->enqueued);
    sim::expect(next <= last + 2, "the owner's next check uses the new limits");
}

void limits_setup()
{
    begin(RTRCU_DRIVER_KTHREAD);
    sim::as_thread(sim::thread("changer", change_limits), register_reader);
    sim::as_thread(sim::thread("owner", look_beside_a_change), register_and_start_driver);
}

// ---- threads cannot be created for a while ----

void call_and_barrier()
{
    call_rcu(&replace_object()->head, free_callback);
    sim::step();
    rcu_barrier();
    sim::expect(invoked == 1, "the callback has run once");
}

void refused_setup()
{
    begin(RTRCU_DRIVER_KTHREAD);
    sim::may_fail(sim::kThreads, 2);
    sim::as_thread(sim::thread("updater", call_and_barrier), register_reader);
}

// A daemon cannot be created for a while.  The driver, which exists, runs the callback in place of the daemon, or
// creates the daemon later.
void daemon_refused_setup()
{
    begin(RTRCU_DRIVER_KTHREAD);
    sim::as_thread(sim::thread("reader", read_once), register_reader);
    sim::as_thread(sim::thread("updater", call_and_wait), register_and_start_driver);
    sim::may_fail(sim::kThreads, 2);
}

// A polling call takes the steps of its grace period if no thread of the library does.  After the reader has left, it
// needs at most two grace periods of one step each.  Alternatively the worker has been created and takes the steps.
uint32_t readers_done;

void read_and_finish()
{
    read_once();
    rtrcu_store_release(&readers_done, 1);
}

bool polled(enum gp_kind kind, uint64_t polled_for)
{
    return kind == GP_NORMAL ? rtrcu_poll_state(polled_for) : rtrcu_poll_state_expedited(polled_for);
}

void poll_and_free(enum gp_kind kind)
{
    struct object *old = replace_object();
    uint64_t polled_for = kind == GP_NORMAL ? rtrcu_start_poll() : rtrcu_start_poll_expedited();
    bool ended = polled(kind, polled_for);
    if (!ended)
        sim::until([] { return rtrcu_load_acquire(&readers_done) == 1; });
    for (int polls = 0; !ended && polls < 4; polls++)
        ended = polled(kind, polled_for);
    const struct domain_drive *drive = &rtrcu_domain.drive;
    bool worker = kind == GP_EXPEDITED && work_thread_runs(&drive->work.worker[WORK_WORKER_EXPEDITED].thread);
    sim::expect(ended || worker || !work_driver_is_refused(&drive->work), "a polled cookie ends without a driver");
    if (ended)
        free_object(old);
}

void poll_refused_setup()
{
    begin(RTRCU_DRIVER_KTHREAD);
    readers_done = 0;
    sim::may_fail(sim::kThreads, 20);
    sim::as_thread(sim::thread("reader", read_and_finish), register_reader);
    sim::as_thread(sim::thread("updater", [] { poll_and_free(GP_NORMAL); }), register_reader);
}

void poll_expedited_refused_setup()
{
    begin(RTRCU_DRIVER_KTHREAD);
    readers_done = 0;
    sim::may_fail(sim::kThreads, 20);
    sim::as_thread(sim::thread("reader", read_and_finish), register_reader);
    sim::as_thread(sim::thread("updater", [] { poll_and_free(GP_EXPEDITED); }), register_reader);
}

} // namespace

extern const sim::Scenario kDriverChanged, kDriverToSched, kDriverFromSched, kThreadsRefused, kDaemonRefused;
extern const sim::Scenario kPollRefused, kPollExpeditedRefused;
extern const sim::Scenario kLimitsChanged, kThreadAttributes;
extern const sim::Scenario kLtimer, kLtimerIdle, kPollDriver, kSched, kSchedTwo;

const sim::Scenario kLtimer = {
    "ltimer", "driver ltimer: one callback and a reader", ltimer_setup, nullptr, check_invariants, 8000};
const sim::Scenario kLtimerIdle = {
    "ltimer-idle", "driver ltimer sleeps once no work is left", ltimer_idle_setup, nullptr, check_invariants, 8000};
const sim::Scenario kPollDriver = {
    "poll-driver", "driver poll: one callback and a reader", poll_setup, nullptr, check_invariants, 20000};
const sim::Scenario kSched = {
    "sched", "driver sched: quiescent states do the driver's work", sched_setup, nullptr, check_invariants, 10000};
const sim::Scenario kSchedTwo = {"sched-two",      "driver sched: two threads share the work, and one exits",
                                 sched_two_setup,  nullptr,
                                 check_invariants, 10000};
const sim::Scenario kThreadAttributes = {
    "thread-attributes", "the CPUs of library threads are changed while a thread reads them",
    home_setup,          nullptr,
    check_invariants,    2000};
const sim::Scenario kDriverChanged = {"driver-changed", "the driver is changed during the first callback",
                                      changed_setup,    nullptr,
                                      check_invariants, 8000};
const sim::Scenario kDriverToSched = {"driver-to-sched",      "a change to driver sched during the first callback",
                                      changed_to_sched_setup, nullptr,
                                      check_invariants,       10000};
const sim::Scenario kDriverFromSched = {
    "driver-from-sched",      "a change from driver sched during the first callback",
    changed_from_sched_setup, nullptr,
    check_invariants,         10000};
const sim::Scenario kLimitsChanged = {"limits-changed", "the limits are changed while an owner checks them",
                                      limits_setup,     nullptr,
                                      check_invariants, 8000};
const sim::Scenario kThreadsRefused = {
    "threads-refused", "no thread can be created for a while: the barrier does the work",
    refused_setup,     nullptr,
    check_invariants,  8000};
const sim::Scenario kPollRefused = {"poll-refused",     "no thread can be created for a while: polls take the steps",
                                    poll_refused_setup, nullptr,
                                    check_invariants,   8000};
const sim::Scenario kPollExpeditedRefused = {"poll-expedited-refused",
                                             "the same with an expedited grace period",
                                             poll_expedited_refused_setup,
                                             nullptr,
                                             check_invariants,
                                             8000};
const sim::Scenario kDaemonRefused = {
    "daemon-refused",     "no daemon can be created for a while: the driver runs callbacks",
    daemon_refused_setup, nullptr,
    check_invariants,     8000};

} // namespace scenarios

// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads that wait for a grace period: several at the same time, with cookies, with expedited ones.
#include "scenarios/common.h"

#include <rtrcu/task.h>

namespace scenarios
{

namespace
{

struct rtrcu_config *begin()
{
    struct rtrcu_config *config = configure();
    shared = make_object();
    sim::no_timeouts();
    return config;
}

void share_setup()
{
    begin();
    sim::as_thread(sim::thread("reader", read_once), register_reader);
    sim::thread("updater1", exchange_and_wait);
    sim::thread("updater2", exchange_and_wait);
}

void crowd_setup()
{
    begin();
    sim::thread("waiter1", rtrcu_synchronize);
    sim::thread("waiter2", rtrcu_synchronize);
    sim::thread("waiter3", rtrcu_synchronize);
}

// A waiter is preempted while it sleeps in synchronize_rcu(): a signal handler that returns only after the other waiter
// has returned stands for the preemption.  The other waiter must not depend on it.
bool other_is_done;
bool first_is_kept;
bool first_is_done;

bool other_has_returned()
{
    return rtrcu_load_acquire(&other_is_done);
}

bool first_waits()
{
    return rtrcu_load_acquire(&first_is_kept) || rtrcu_load_acquire(&first_is_done) ||
           tally_read(&rtrcu_domain.drive.turn.gp_state[GP_NORMAL].sleeping) != 0;
}

bool first_has_gone_on()
{
    return rtrcu_load_acquire(&first_is_kept) || rtrcu_load_acquire(&first_is_done);
}

void keep_if_asleep()
{
    if (!(rtrcu_self.state & READER_STATE_ASLEEP))
        return;
    rtrcu_store_release(&first_is_kept, true);
    sim::until(other_has_returned);
}

void read_until_waited_for()
{
    rcu_read_lock();
    use_object();
    sim::until(first_waits);
    rcu_read_unlock();
    stay();
}

void wait_and_be_kept()
{
    synchronize_rcu();
    rtrcu_store_release(&first_is_done, true);
}

void wait_without_the_first()
{
    sim::until(first_has_gone_on);
    exchange_and_wait();
    rtrcu_store_release(&other_is_done, true);
}

void help_setup()
{
    begin();
    other_is_done = first_is_kept = first_is_done = false;
    sim::as_thread(sim::thread("reader", read_until_waited_for), register_reader);
    int first = sim::thread("first", wait_and_be_kept);
    sim::as_thread(first, register_reader);
    sim::signal(first, keep_if_asleep);
    sim::thread("other", wait_without_the_first);
}

// ---- a thread of low priority leaves the steps to the driver, and is woken at the end ----

void register_weak()
{
    register_and_start_driver();
    (void)plat_sched_set(0, 5);
}

void weak_setup()
{
    begin();
    sim::no_timeouts();
    // the main thread, whose priority counts as ordinary
    sim::as_thread(sim::thread("reader", read_once), register_reader);
    sim::as_thread(sim::thread("updater", replace_and_wait), register_weak);
}

// ---- cookies ----

uint64_t cookie;

void cookie_updater()
{
    struct object *old = replace_object();
    cookie = get_state_synchronize_rcu();
    synchronize_rcu();
    sim::expect(poll_state_synchronize_rcu(cookie), "a whole grace period has passed since the cookie");
    free_object(old);
}

// A thread that finds the cookie reached may free.
void poll_updater()
{
    struct object *old = replace_object();
    uint64_t own = start_poll_synchronize_rcu();
    cond_synchronize_rcu(own);
    free_object(old);
}

// A reached cookie orders stores before the poll and loads after it, as a wait would.
uint32_t stored_by_poller, stored_by_other, seen_by_poller, seen_by_other;

void poll_between()
{
    rtrcu_store_relaxed(&stored_by_poller, 1u);
    sim::expect(poll_state_synchronize_rcu(cookie), "a reached cookie stays reached");
    seen_by_poller = rtrcu_load_relaxed(&stored_by_other);
}

void fence_between()
{
    rtrcu_store_relaxed(&stored_by_other, 1u);
    rtrcu_fence_full();
    seen_by_other = rtrcu_load_relaxed(&stored_by_poller);
}

void reached_setup()
{
    begin();
    cookie = rtrcu_load_relaxed(&rtrcu_domain.gp.machine[GP_NORMAL].seq);
    stored_by_poller = stored_by_other = seen_by_poller = seen_by_other = 0;
    sim::thread("poller", poll_between);
    sim::thread("other", fence_between);
}

void reached_finish()
{
    sim::expect(seen_by_poller || seen_by_other, "one of the two has seen what the other stored");
}

void cookie_setup()
{
    begin();
    sim::as_thread(sim::thread("reader", read_once), register_reader);
    sim::thread("updater", cookie_updater);
    sim::thread("other", rtrcu_synchronize);
}

void poll_setup()
{
    begin();
    sim::as_thread(sim::thread("reader", read_once), register_reader);
    sim::thread("updater", poll_updater);
}

// ---- expedited: a worker advances, callers sleep ----

void make_worker()
{
    register_reader();
    (void)work_worker_start(work_worker(&rtrcu_domain.drive.work, WORK_WORKER_EXPEDITED));
}

void expedited_setup()
{
    begin();
    sim::as_thread(sim::thread("reader", read_once), make_worker);
    sim::thread("updater", exchange_and_expedite);
}

void expedited_two_setup()
{
    begin();
    sim::thread("updater1", exchange_and_expedite);
    sim::thread("updater2", exchange_and_expedite);
}

// A thread that finds that the worker was notified relies on the wake-up, which must already have happened: the
// notifying thread might be preempted.
uint64_t told_of;
uint32_t tellings;

void check_tellings()
{
    struct domain_drive *drive = &rtrcu_domain.drive;
    check_invariants();
    tellings += told_of != drive->turn.exp_waiters.notified;
    told_of = drive->turn.exp_waiters.notified;
    sim::expect(drive->work.worker[WORK_WORKER_EXPEDITED].thread.event >= tellings,
                "the worker was woken before `notified` shows it");
}

void expedited_told_setup()
{
    begin();
    told_of = rtrcu_domain.drive.turn.exp_waiters.notified;
    tellings = 0;
    sim::as_thread(sim::thread("reader", read_once), make_worker);
    sim::thread("updater1", exchange_and_expedite);
    sim::thread("updater2", exchange_and_expedite);
}

// One thread only requests and polls, while another takes the first step.  The worker is late, or does not exist.
uint64_t asked;

bool asked_is_reached()
{
    // gp_reached() and not a poll: a poll may create threads, which a condition of sim::until() must not do
    return gp_reached(&rtrcu_domain.gp, GP_EXPEDITED, asked);
}

void expedited_asker()
{
    struct object *old = rcu_xchg_pointer(&shared, make_object());
    asked = start_poll_synchronize_rcu_expedited();
    sim::until(asked_is_reached);
    sim::expect(asked_is_reached(), "a reached cookie stays reached");
    free_object(old);
}

void expedited_ask_setup()
{
    begin();
    sim::as_thread(sim::thread("reader", read_once), register_reader);
    sim::as_thread(sim::thread("asker", expedited_asker), make_worker);
    sim::thread("updater", exchange_and_expedite);
}

// A thread requests an expedited grace period whose worker may be refused.  It requests again until whichever thread
// exists has ended the grace period.
void expedited_refused_asker()
{
    struct object *old = rcu_xchg_pointer(&shared, make_object());
    asked = start_poll_synchronize_rcu_expedited();
    for (int i = 0; i < 3 && !asked_is_reached(); i++) {
        plat_clock_sleep(2000000);
        (void)start_poll_synchronize_rcu_expedited();
    }
    sim::until(asked_is_reached);
    sim::expect(asked_is_reached(), "a reached cookie stays reached");
    free_object(old);
}

void expedited_alone_setup()
{
    begin();
    sim::may_fail(sim::kThreads, 2);
    sim::as_thread(sim::thread("reader", read_once), register_reader);
    sim::thread("asker", expedited_refused_asker);
}

// Two grace periods, one of each kind, wait for the same reader.
void both_kinds_setup()
{
    begin();
    sim::as_thread(sim::thread("reader", read_once), register_reader);
    sim::thread("updater", exchange_and_expedite);
    sim::thread("other", rtrcu_synchronize);
}

// Threads that advance spin before they sleep, and boost.
void spin_setup()
{
    struct rtrcu_config *config = begin();
    config->kthread_prio = 50;
    config->boost = 1;
    config->boost_delay_us = 0;
    config->spin_us = 3;
    sim::as_thread(sim::thread("reader", read_once), register_reader);
    sim::thread("updater", exchange_and_expedite);
    sim::thread("other", exchange_and_wait);
}

// ---- a parked task is a holdout: the program's handler is called, also for tasks that arrived before it was set ----

struct rcu_task task;
struct object *held;
int prepared;
bool told;

void go_on()
{
    sim::expect(prepared == 42, "the handler sees what was prepared before it was set");
    rtrcu_store_release(&told, true);
}

void prepare_and_set()
{
    prepared = 42;
    rtrcu_task_set_blocking_handler(go_on);
}

bool is_told()
{
    return told;
}

void lock_and_hold()
{
    rcu_read_lock();
    held = rcu_dereference(shared);
}

void park_until_told()
{
    rtrcu_task_park(&task);
    sim::until(is_told);
    rtrcu_task_resume(&task);
    sim::expect(held->value == 42, "a task may use the object until its section ends");
    rcu_read_unlock();
}

void told_setup()
{
    configure();
    shared = make_object();
    prepared = 0;
    told = false;
    rtrcu_task_init(&task, "task");
    sim::as_thread(sim::thread("parker", park_until_told), lock_and_hold);
    sim::thread("updater", replace_and_wait);
    sim::thread("setter", prepare_and_set);
}

// ---- the handler is called again for a task that arrives later; its worker may go to sleep in between ----

struct rcu_task later;
struct object *held_later;
uint32_t tellings_of_tasks, tellings_before;
bool later_ends;

void count_telling()
{
    rtrcu_fetch_add(&tellings_of_tasks, 1);
}

void hold_later()
{
    rcu_read_lock();
    held_later = rcu_dereference(shared);
}

void park_when_told()
{
    sim::until([] { return tellings_of_tasks > 0; });
    tellings_before = rtrcu_load_acquire(&tellings_of_tasks);
    rtrcu_task_park(&later);
    sim::until([] { return tellings_of_tasks > tellings_before; });
    rtrcu_task_resume(&later);
    sim::expect(held_later->value == 42, "a task may use the object until its section ends");
    rtrcu_store_release(&later_ends, true);
    rcu_read_unlock();
}

void park_until_later_ends()
{
    rtrcu_task_park(&task);
    sim::until([] { return later_ends; });
    rtrcu_task_resume(&task);
    rcu_read_unlock();
}

void told_again_setup()
{
    configure();
    shared = make_object();
    tellings_of_tasks = 0;
    later_ends = false;
    sim::early_timeouts(6); // the advancing thread polls again while the handler is being called
    rtrcu_task_init(&task, "task");
    rtrcu_task_init(&later, "later");
    rtrcu_task_set_blocking_handler(count_telling);
    sim::as_thread(sim::thread("parker", park_until_later_ends), lock_and_hold);
    sim::as_thread(sim::thread("later", park_when_told), hold_later);
    sim::thread("updater", replace_and_wait);
}

} // namespace

extern const sim::Scenario kGpLock, kThreeWaiters, kHelp, kLowPriority, kCookie, kReached, kPoll, kExpedited,
    kExpeditedTwo, kExpeditedNotified, kExpeditedRequest, kExpeditedAlone, kBothKinds, kSpin, kTaskHandler,
    kTaskHandlerAgain;

const sim::Scenario kGpLock = {
    "gp-lock", "two updaters contend for the gp lock", share_setup, expect_idle, check_invariants, 4000};
const sim::Scenario kThreeWaiters = {
    "three-waiters", "three threads that only wait", crowd_setup, expect_idle, check_invariants, 4000};
const sim::Scenario kHelp = {
    "help", "a waiting thread is stopped, and another waiter continues", help_setup, nullptr, check_invariants, 6000};
const sim::Scenario kLowPriority = {"low-priority",   "a waiter of low priority leaves its grace period to the driver",
                                    weak_setup,       nullptr,
                                    check_invariants, 6000};
const sim::Scenario kCookie = {
    "cookie", "a cookie during grace periods of other threads", cookie_setup, expect_idle, check_invariants, 4000};
const sim::Scenario kReached = {
    "reached", "a poll of a reached cookie is a full fence", reached_setup, reached_finish, check_invariants, 1000};
const sim::Scenario kPoll = {
    "poll", "a polled cookie, the driver, and a wait for the cookie", poll_setup, nullptr, check_invariants, 6000};
const sim::Scenario kExpedited = {
    "expedited", "the worker advances an expedited grace period", expedited_setup, nullptr, check_invariants, 6000};
const sim::Scenario kExpeditedTwo = {
    "expedited-two", "two callers notify one worker", expedited_two_setup, nullptr, check_invariants, 6000};
const sim::Scenario kExpeditedNotified = {"expedited-notified", "`notified` is set only after the worker was woken",
                                          expedited_told_setup, nullptr,
                                          check_tellings,       8000};
const sim::Scenario kExpeditedRequest = {"expedited-request", "a thread requests while another takes the first step",
                                         expedited_ask_setup, nullptr,
                                         check_invariants,    8000};
const sim::Scenario kExpeditedAlone = {"expedited-alone",     "a thread requests, and no worker can be created",
                                       expedited_alone_setup, nullptr,
                                       check_invariants,      8000};
const sim::Scenario kBothKinds = {"both-kinds",     "a normal and an expedited grace period wait for one reader",
                                  both_kinds_setup, nullptr,
                                  check_invariants, 6000};
const sim::Scenario kSpin = {"spin", "both kinds of grace period spin and boost", spin_setup, nullptr, check_invariants,
                             8000};
const sim::Scenario kTaskHandler = {
    "task-handler", "a parked task causes a call of the handler", told_setup, nullptr, check_invariants, 8000};
const sim::Scenario kTaskHandlerAgain = {"task-handler-again", "the handler is called for each arriving task",
                                         told_again_setup,     nullptr,
                                         check_invariants,     8000};

} // namespace scenarios

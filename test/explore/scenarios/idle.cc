// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads that become idle, and read again.
#include "scenarios/common.h"

#include <rtrcu/task.h>

namespace scenarios
{

namespace
{

struct rcu_task task, second_task;
struct object *held;
bool parked, handling;

bool is_parked()
{
    return parked;
}

// Each normal grace period, the first included, makes candidates of the threads that the last one found outside.  A
// thread that registers while a grace period searches for readers that need a fence, and finds none, may lose its flag.
// That costs a tick, so timed waits end here.
void begin(uint32_t count)
{
    configure()->idle_scans = 1;
    shared = make_object();
    parked = handling = false;
    updaters = count;
    rtrcu_task_init(&task, "task");
    rtrcu_task_init(&second_task, "second task");
    rtrcu_domain.gp.machine[GP_NORMAL].idle_possible = true;
}

// ---- the states in which a thread begins: found outside once, with its flag clear or set; or already idle ----

void idle_fast()
{
    register_reader();
    rtrcu_self.record->outside_scans = 1;
}

void idle_armed()
{
    idle_fast();
    reader_arm_self();
}

// Like gp_idle_propose(), a fence and gp_idle_settle(), with no step of another thread in between.
void fall_asleep()
{
    struct reader_leaf *leaf = rtrcu_self.record->leaf;
    rtrcu_self.record->outside_scans = 1;
    reader_lock(leaf);
    (void)reader_idle_propose(leaf, 1);
    reader_idle_settle(leaf, reader_bit(rtrcu_self.record));
    reader_unlock(leaf);
}

void asleep()
{
    register_reader();
    fall_asleep();
}

void asleep_in_second_leaf()
{
    register_in_second_leaf();
    fall_asleep();
}

void offline_armed()
{
    register_qsbr();
    rcu_thread_offline();
    rtrcu_self.record->outside_scans = 1;
    reader_arm_self();
}

void offline_asleep()
{
    register_qsbr();
    rcu_thread_offline();
    fall_asleep();
}

// ---- the thread's actions ----

void read_twice()
{
    read_once();
    read_once();
    stay();
}

// A quiescent state of a thread that is outside clears its flag.
void quiescent_and_read()
{
    rtrcu_quiescent_state_slow();
    read_once();
    read_once();
    stay();
}

void online_and_use()
{
    rcu_thread_online();
    use_object();
    rcu_quiescent_state();
    use_object();
    rcu_thread_offline();
    stay();
}

void with_reader(void (*start)(), void (*body)())
{
    begin(2);
    sim::as_thread(sim::thread("reader", body), start);
    sim::thread("updater", replace_twice);
}

void sleep_setup()
{
    with_reader(idle_fast, read_twice);
}

void sleep_armed_setup()
{
    with_reader(idle_armed, read_twice);
}

void sleep_quiescent_setup()
{
    with_reader(idle_fast, quiescent_and_read);
}

void sleep_wake_setup()
{
    begin(1);
    sim::as_thread(sim::thread("reader", read_and_stay), asleep);
    sim::thread("updater", replace_and_wait);
}

void sleep_online_setup()
{
    with_reader(offline_armed, online_and_use);
    sim::as_thread(sim::thread("other", stay), register_reader);
}

void sleep_online_wake_setup()
{
    begin(1);
    sim::as_thread(sim::thread("reader", online_and_use), offline_asleep);
    sim::thread("updater", replace_and_wait);
}

// A thread other than the updater sets the reader's flag the second time, as it does when callbacks are ready. At that
// time the reader may be changing its own word, and so may overwrite the flag.
struct reader_record *asked;

bool is_leaving()
{
    return reader_idle_candidates(rtrcu_domain.registry.leaf[0]) != 0 || updaters < 2;
}

void ask_again()
{
    sim::until(is_leaving);
    reader_lock(asked->leaf);
    if (reader_is_registered(asked))
        (void)reader_arm(asked);
    reader_unlock(asked->leaf);
    stay();
}

void idle_and_asked()
{
    idle_fast();
    asked = rtrcu_self.record;
}

void sleep_asked_setup()
{
    begin(2);
    sim::as_thread(sim::thread("reader", read_twice), idle_and_asked);
    sim::thread("asker", ask_again);
    sim::thread("updater", replace_twice);
}

void sleep_kinds_setup()
{
    begin(2);
    sim::as_thread(sim::thread("reader", read_twice), idle_fast);
    sim::thread("normal", exchange_and_wait);
    sim::thread("expedited", exchange_and_expedite);
}

// ---- tasks ----

void lock_and_hold()
{
    rcu_read_lock();
    held = rcu_dereference(shared);
}

void park_fast()
{
    register_reader();
    lock_and_hold();
    rtrcu_task_park(&task);
    rtrcu_self.record->outside_scans = 1;
}

void lock_and_park()
{
    lock_and_hold();
    use_object();
    rtrcu_task_park(&task);
    rtrcu_store_release(&parked, true);
    stay();
}

void use_held()
{
    sim::expect(held->value == 42, "a task may use the object until its section ends, wherever it goes on");
}

void resume_and_unlock()
{
    rtrcu_task_resume(&task);
    use_held();
    rcu_read_unlock();
    stay();
}

void resume_when_parked()
{
    sim::until(is_parked);
    (void)rtrcu_load_acquire(&parked);
    resume_and_unlock();
}

void sleep_task_setup()
{
    begin(2);
    sim::as_thread(sim::thread("parker", lock_and_park), idle_fast);
    sim::as_thread(sim::thread("resumer", resume_when_parked), idle_fast);
    sim::thread("updater", replace_twice);
}

// A task is parked on the list of an idle thread: the scan of the other kind of grace period must still read that list.
void sleep_parked_setup()
{
    begin(2);
    sim::as_thread(sim::thread("parker", resume_and_unlock), park_fast);
    sim::thread("normal", exchange_and_wait);
    sim::thread("expedited", exchange_and_expedite);
}

// A task resumes on an idle thread, and another task takes its section over.  No scan reads the list of an idle thread,
// so the section must be listed elsewhere.
void resume_and_list()
{
    sim::until(is_parked);
    (void)rtrcu_load_acquire(&parked);
    rtrcu_task_resume(&task);
    rtrcu_task_list(&second_task);
    use_held();
    rtrcu_task_unlist(&second_task);
    stay();
}

void park_and_stay()
{
    lock_and_hold();
    rtrcu_task_park(&task);
    rtrcu_store_release(&parked, true);
    stay();
}

void sleep_relist_setup()
{
    begin(1);
    sim::as_thread(sim::thread("parker", park_and_stay), register_reader);
    sim::as_thread(sim::thread("resumer", resume_and_list), asleep_in_second_leaf);
    sim::thread("updater", replace_and_wait);
}

// A task is on the list of a leaf whose threads may all be idle.
void sleep_listed_setup()
{
    begin(2);
    rtrcu_domain.config.first.blocked_lists = RTRCU_BLOCKED_LISTS_NODE;
    sim::as_thread(sim::thread("parker", lock_and_park), idle_fast);
    sim::as_thread(sim::thread("resumer", resume_when_parked), idle_fast);
    sim::thread("normal", exchange_and_wait);
    sim::thread("expedited", exchange_and_expedite);
}

// ---- handlers, threads that register and exit, and deadline threads ----

void read_in_handler()
{
    rcu_read_lock();
    struct object *object = rcu_dereference(shared);
    rtrcu_store_relaxed(&handling, true); // not a release, so that buffered stores stay in the buffer
    for (int i = 0; i < 4; i++) {
        sim::expect(object->value == 42, "a handler may use the object until its section ends");
        sim::step();
    }
    rcu_read_unlock();
}

bool is_handling()
{
    return handling;
}

void replace_meanwhile()
{
    sim::until(is_handling);
    replace_and_wait();
}

void sleep_handler_setup()
{
    begin(1);
    int reader = sim::thread("reader", read_and_stay);
    sim::as_thread(reader, asleep);
    sim::signal(reader, read_in_handler);
    sim::thread("updater", replace_meanwhile);
}

void sleep_exit_setup()
{
    begin(2);
    sim::as_thread(sim::thread("leaver", read_once), idle_fast);
    sim::thread("newcomer", read_once);
    sim::thread("updater", replace_twice);
}

void become_deadline()
{
    register_deadline();
    stay();
    bool awake = reader_scanned_slots(rtrcu_self.record->leaf) & reader_bit(rtrcu_self.record);
    sim::expect(awake, "a deadline thread is awake");
}

void sleep_deadline_setup()
{
    with_reader(idle_armed, become_deadline);
}

// The kernel refuses the fence after which candidates would have become idle.
void refuse_membarrier()
{
    sim::refuse_fences(true, false);
}

void sleep_refused_setup()
{
    begin(2);
    sim::as_thread(sim::thread("reader", read_twice), idle_fast);
    sim::thread("updater", replace_twice);
    sim::event("membarrier is refused from now on", refuse_membarrier);
}

} // namespace

extern const sim::Scenario kIdle, kIdleArmed, kIdleQuiescent, kIdleRead, kIdleOnline, kIdleOnlineWake, kIdleFlagged,
    kIdleKinds, kIdleTask, kIdleParked, kIdleRelist, kIdleListed, kIdleHandler, kIdleExit, kIdleDeadline, kIdleRefused;

const sim::Scenario kIdle = {"idle", "a reader becomes idle and reads", sleep_setup, expect_idle, check_invariants,
                             4000};
const sim::Scenario kIdleArmed = {"idle-armed",      "a reader whose flag is set becomes idle and reads",
                                  sleep_armed_setup, expect_idle,
                                  check_invariants,  4000};
const sim::Scenario kIdleQuiescent = {"idle-quiescent",      "a candidate passes a quiescent state before it reads",
                                      sleep_quiescent_setup, expect_idle,
                                      check_invariants,      4000};
const sim::Scenario kIdleRead = {"idle-read", "an idle reader reads", sleep_wake_setup,
                                 expect_idle, check_invariants,       3000};
const sim::Scenario kIdleOnline = {"idle-online",      "an offline thread becomes idle and comes online",
                                   sleep_online_setup, expect_idle,
                                   check_invariants,   6000};
const sim::Scenario kIdleOnlineWake = {
    "idle-online-wake", "an idle thread comes online", sleep_online_wake_setup, expect_idle, check_invariants, 3000};
const sim::Scenario kIdleFlagged = {"idle-flagged",    "another thread sets a candidate's flag too",
                                    sleep_asked_setup, expect_idle,
                                    check_invariants,  5000};
const sim::Scenario kIdleKinds = {"idle-kinds",      "a thread becomes idle during an expedited grace period",
                                  sleep_kinds_setup, nullptr,
                                  check_invariants,  8000};
const sim::Scenario kIdleTask = {"idle-task",      "a task parks on a thread and resumes on an idle one",
                                 sleep_task_setup, expect_idle,
                                 check_invariants, 8000};
const sim::Scenario kIdleParked = {
    "idle-parked", "a task is on the list of a candidate", sleep_parked_setup, nullptr, check_invariants, 8000};
const sim::Scenario kIdleRelist = {
    "idle-relist",      "a task resumes on an idle thread, and another task takes its section over",
    sleep_relist_setup, expect_idle,
    check_invariants,   6000};
const sim::Scenario kIdleListed = {"idle-listed",      "a task is on the list of a leaf whose threads are idle",
                                   sleep_listed_setup, nullptr,
                                   check_invariants,   9000};
const sim::Scenario kIdleHandler = {
    "idle-handler", "an idle reader and its handler read", sleep_handler_setup, expect_idle, check_invariants, 5000};
const sim::Scenario kIdleExit = {"idle-exit",      "an idle thread exits, and another thread takes its slot",
                                 sleep_exit_setup, expect_idle,
                                 check_invariants, 6000};
const sim::Scenario kIdleDeadline = {"idle-deadline",      "a candidate becomes a deadline thread",
                                     sleep_deadline_setup, expect_idle,
                                     check_invariants,     5000};
const sim::Scenario kIdleRefused = {"idle-refused",      "membarrier() is refused while a thread becomes idle",
                                    sleep_refused_setup, expect_idle,
                                    check_invariants,    8000};

} // namespace scenarios

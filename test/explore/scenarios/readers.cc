// SPDX-License-Identifier: MIT OR Apache-2.0
// Readers of both disciplines against an updater that publishes, waits and frees.
#include "scenarios/common.h"

namespace scenarios
{

namespace
{

int begin()
{
    configure();
    shared = make_object();
    sim::no_timeouts();
    int reader = sim::thread("reader", read_and_stay);
    sim::as_thread(reader, register_reader);
    return reader;
}

void publish_setup()
{
    begin();
    sim::thread("updater", replace_and_wait);
}

// ---- nested: an increment or decrement in progress may lose the flag ----

void nested_reader()
{
    rcu_read_lock();
    rcu_read_lock();
    use_object();
    rcu_read_unlock();
    rcu_read_lock();
    rcu_read_unlock();
    rcu_read_unlock();
    stay();
}

void nested_setup()
{
    configure();
    shared = make_object();
    sim::no_timeouts();
    sim::as_thread(sim::thread("reader", nested_reader), register_reader);
    sim::thread("updater", replace_and_wait);
}

// ---- the outer section continues after the end of an inner one ----

void use_behind_inner()
{
    rcu_read_lock();
    struct object *object = rcu_dereference(shared);
    rcu_read_lock();
    rcu_read_unlock();
    sim::expect(object->value == 42, "the end of an inner section ends nothing");
    rcu_read_unlock();
    stay();
}

void inner_setup()
{
    configure();
    shared = make_object();
    sim::no_timeouts();
    sim::as_thread(sim::thread("reader", use_behind_inner), register_reader);
    sim::thread("updater", replace_and_wait);
}

// For a quiescent-state thread, every section is an inner one.
void quiescent_behind_inner()
{
    struct object *object = rcu_dereference(shared);
    rcu_read_lock();
    rcu_read_unlock();
    sim::expect(object->value == 42, "a section in a quiescent-state thread ends nothing");
    rcu_thread_offline();
    stay();
}

void quiescent_inner_setup()
{
    configure();
    shared = make_object();
    sim::no_timeouts();
    sim::as_thread(sim::thread("reader", quiescent_behind_inner), register_qsbr);
    sim::thread("updater", replace_and_wait);
}

void last_slot_setup()
{
    configure();
    shared = make_object();
    sim::no_timeouts();
    sim::as_thread(sim::thread("reader", read_and_stay), register_in_last_slot);
    sim::thread("updater", replace_and_wait);
}

// ---- two readers, the second in a section of its own when the first has left ----

void two_setup()
{
    begin();
    sim::as_thread(sim::thread("reader2", read_and_stay), register_reader);
    sim::thread("updater", replace_and_wait);
}

// ---- a handler of the reader reads too ----

void handler_setup()
{
    sim::signal(begin(), read_once);
    sim::thread("updater", replace_and_wait);
}

// ---- quiescent-state thread ----

void quiescent_reader()
{
    rcu_read_lock_qs();
    use_object();
    rcu_read_unlock_qs();
    rcu_quiescent_state();
    use_object();
    rcu_thread_offline();
    rcu_thread_online();
    use_object();
    rcu_thread_offline();
    stay();
}

void quiescent_setup()
{
    configure();
    shared = make_object();
    sim::no_timeouts();
    sim::as_thread(sim::thread("reader", quiescent_reader), register_qsbr);
    sim::thread("updater", replace_and_wait);
}

// Two grace periods request a report from the same thread: the second requests its report when the first has already
// set the thread's flag.
void quiescent_twice()
{
    use_object();
    rcu_quiescent_state();
    use_object();
    rcu_quiescent_state();
    use_object();
    rcu_thread_offline();
    stay();
}

void quiescent_two_setup()
{
    configure();
    updaters = 2;
    shared = make_object();
    sim::no_timeouts();
    sim::as_thread(sim::thread("reader", quiescent_twice), register_qsbr);
    sim::thread("updater", replace_twice);
}

// Sections of a quiescent-state thread are counted too, so an update in progress may lose the flag that the scan has
// set.
void quiescent_nested()
{
    rcu_read_lock();
    use_object();
    rcu_read_unlock();
    rcu_quiescent_state();
    rcu_read_lock();
    rcu_read_unlock();
    rcu_thread_offline();
    stay();
}

// The third thread is preemptible, so grace periods issue heavy fences.
void quiescent_nested_setup()
{
    configure();
    shared = make_object();
    sim::no_timeouts();
    sim::as_thread(sim::thread("reader", quiescent_nested), register_qsbr);
    sim::as_thread(sim::thread("other", stay), register_reader);
    sim::thread("updater", replace_and_wait);
}

// No reader needs a fence, so a lost flag costs a tick.
void quiescent_unfenced_setup()
{
    configure();
    shared = make_object();
    sim::as_thread(sim::thread("reader", quiescent_nested), register_qsbr);
    sim::thread("updater", replace_and_wait);
}

// A quiescent-state thread reads while it is offline: sections of an offline thread begin without a fence.
void quiescent_offline()
{
    use_object();
    rcu_thread_offline();
    read_once();
    rcu_thread_online();
    use_object();
    rcu_thread_offline();
    read_once();
    stay();
}

void quiescent_offline_setup()
{
    configure();
    shared = make_object();
    sim::as_thread(sim::thread("reader", quiescent_offline), register_qsbr);
    sim::thread("updater", replace_and_wait);
}

// A thread that leaves the quiescent-state discipline reports, which must wake a sleeping waiter.
void gives_up()
{
    use_object();
    (void)rtrcu_register_thread(0);
    stay();
}

void gives_up_setup()
{
    configure();
    shared = make_object();
    sim::no_timeouts();
    rtrcu_domain.drive.work.thread.state = WORK_RUNNING; /* so that no driver is needed */
    sim::as_thread(sim::thread("reader", gives_up), register_qsbr);
    sim::thread("updater", replace_and_wait);
}

// A quiescent-state thread is offline while it waits for a grace period.
void quiescent_updater()
{
    use_object();
    replace_and_wait();
    use_object();
    rcu_thread_offline();
}

void waits_setup()
{
    configure();
    shared = make_object();
    sim::no_timeouts();
    sim::as_thread(sim::thread("quiescent", quiescent_updater), register_qsbr);
    sim::as_thread(sim::thread("reader", read_and_stay), register_reader);
}

// ---- deadline thread: it wakes no thread, so the sleeper's timeout finds its report ----

void deadline_setup()
{
    configure();
    shared = make_object();
    sim::as_thread(sim::thread("reader", read_and_stay), register_deadline);
    sim::thread("updater", replace_and_wait);
}

} // namespace

extern const sim::Scenario kPublish, kNested, kTwoReaders, kHandler, kQuiescent, kQuiescentTwo, kQuiescentNested,
    kQuiescentLeaves, kQuiescentWaits, kDeadline, kInner, kQuiescentInner, kLastSlot, kQuiescentUnfenced,
    kQuiescentOffline;

const sim::Scenario kPublish = {"publish",        "a section while an updater publishes, waits and frees",
                                publish_setup,    expect_idle,
                                check_invariants, 2000};
const sim::Scenario kNested = {
    "nested", "nested sections whose updates may lose the flag", nested_setup, expect_idle, check_invariants, 2000};
const sim::Scenario kTwoReaders = {"two-readers", "two readers of one leaf", two_setup,
                                   expect_idle,   check_invariants,          2000};
const sim::Scenario kHandler = {
    "handler", "a signal handler of the reader reads too", handler_setup, expect_idle, check_invariants, 2000};
const sim::Scenario kQuiescent = {"quiescent",      "a quiescent-state thread reports, goes offline and online",
                                  quiescent_setup,  expect_idle,
                                  check_invariants, 2000};
const sim::Scenario kQuiescentTwo = {"quiescent-two",     "a quiescent-state thread during two grace periods",
                                     quiescent_two_setup, expect_idle,
                                     check_invariants,    3000};
const sim::Scenario kQuiescentNested = {"quiescent-nested",     "a quiescent-state thread with sections of its own",
                                        quiescent_nested_setup, expect_idle,
                                        check_invariants,       2000};
const sim::Scenario kQuiescentLeaves = {"quiescent-leaves", "a quiescent-state thread becomes a preemptible thread",
                                        gives_up_setup,     expect_idle,
                                        check_invariants,   2000};
const sim::Scenario kQuiescentWaits = {"quiescent-waits", "a quiescent-state thread waits for a grace period itself",
                                       waits_setup,       expect_idle,
                                       check_invariants,  2000};
const sim::Scenario kDeadline = {
    "deadline", "a deadline thread reports without a wake-up", deadline_setup, expect_idle, check_invariants, 2000};
const sim::Scenario kInner = {
    "inner", "a pointer is used after the end of an inner section", inner_setup, expect_idle, check_invariants, 2000};
const sim::Scenario kQuiescentInner = {"quiescent-inner",     "an inner section ends in a quiescent-state thread",
                                       quiescent_inner_setup, expect_idle,
                                       check_invariants,      2000};
const sim::Scenario kLastSlot = {
    "last-slot", "a reader in the last slot of a leaf", last_slot_setup, expect_idle, check_invariants, 2000};

const sim::Scenario kQuiescentUnfenced = {
    "quiescent-unfenced",     "a quiescent-state thread with sections, and no fence is needed",
    quiescent_unfenced_setup, expect_idle,
    check_invariants,         2000};
const sim::Scenario kQuiescentOffline = {
    "quiescent-offline",     "sections of a quiescent-state thread that is offline",
    quiescent_offline_setup, expect_idle,
    check_invariants,        2000};

} // namespace scenarios

// SPDX-License-Identifier: MIT OR Apache-2.0
// Driver sched with owners that have sections of their own, whose updates may lose a flag that another thread sets.
// Another thread's quiescent states still complete the remaining work.
#include "scenarios/common.h"

namespace scenarios
{

namespace
{

constexpr int kEnough = 12; // number of quiescent states that the remaining thread passes alone

unsigned long cookie;
bool gone;

bool is_gone()
{
    return rtrcu_load_acquire(&gone);
}

// Wait until the other thread has taken its steps.
void wait_for_the_other()
{
    sim::until(is_gone);
    (void)rtrcu_load_acquire(&gone);
}

void pass_quiescent_states(int count)
{
    for (int i = 0; i < count; i++) {
        rcu_quiescent_state();
        sim::step();
    }
}

void enter_and_leave()
{
    rcu_read_lock();
    rcu_read_unlock();
}

// Register, and clear the flag.
void register_and_settle()
{
    register_qsbr();
    rcu_quiescent_state();
    rcu_quiescent_state();
}

void begin()
{
    configure();
    shared = make_object();
    gone = false;
    use_driver(RTRCU_DRIVER_SCHED);
    rtrcu_domain.config.first.policy = RTRCU_POLICY_INLINE;
}

// ---- a thread that goes offline leaves its request to another ----

void ask_and_leave()
{
    cookie = start_poll_synchronize_rcu();
    rcu_thread_offline();
    rtrcu_store_release(&gone, true);
}

void inherit()
{
    for (int i = 0; i < 3; i++)
        enter_and_leave();
    wait_for_the_other();
    pass_quiescent_states(kEnough);
    sim::expect(poll_state_synchronize_rcu(cookie), "the remaining thread continues the requested grace period");
}

void leave_setup()
{
    begin();
    sim::as_thread(sim::thread("leaver", ask_and_leave), register_qsbr);
    sim::as_thread(sim::thread("heir", inherit), register_and_settle);
}

// ---- another thread ends the grace period of a callback ----

void queue_and_come()
{
    call_rcu(&replace_object()->head, free_callback);
    for (int i = 0; i < 6; i++) {
        enter_and_leave();
        rcu_quiescent_state();
        enter_and_leave();
    }
    wait_for_the_other();
    pass_quiescent_states(kEnough);
    sim::expect(invoked == 1, "the callback of a thread that passes quiescent states runs");
}

void come_too()
{
    pass_quiescent_states(kEnough);
    rcu_thread_offline();
    rtrcu_store_release(&gone, true);
}

void ready_setup()
{
    begin();
    sim::as_thread(sim::thread("owner", queue_and_come), register_and_settle);
    sim::as_thread(sim::thread("other", come_too), register_and_settle);
}

// ---- a thread that already has a record comes online by registering explicitly ----

void ask_and_unregister()
{
    cookie = start_poll_synchronize_rcu();
    (void)rtrcu_unregister_thread();
    rtrcu_store_release(&gone, true);
}

void register_twice()
{
    register_reader();
    register_reader();
}

void register_and_inherit()
{
    wait_for_the_other();
    (void)rtrcu_register_thread(RTRCU_QSBR);
    pass_quiescent_states(kEnough);
    sim::expect(poll_state_synchronize_rcu(cookie), "a thread that comes online continues the requested grace period");
}

void again_setup()
{
    begin();
    sim::as_thread(sim::thread("leaver", ask_and_unregister), register_qsbr);
    sim::as_thread(sim::thread("heir", register_and_inherit), register_twice);
}

} // namespace

extern const sim::Scenario kSchedLeave, kSchedReady, kSchedAgain;

const sim::Scenario kSchedLeave = {"sched-leave",    "driver sched: a thread that goes offline leaves its work",
                                   leave_setup,      nullptr,
                                   check_invariants, 20000};
const sim::Scenario kSchedReady = {"sched-ready",    "driver sched: callbacks of a thread with sections are ready",
                                   ready_setup,      nullptr,
                                   check_invariants, 20000};
const sim::Scenario kSchedAgain = {"sched-again",    "driver sched: a thread with a record registers explicitly",
                                   again_setup,      nullptr,
                                   check_invariants, 20000};

} // namespace scenarios

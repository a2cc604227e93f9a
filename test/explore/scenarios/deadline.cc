// SPDX-License-Identifier: MIT OR Apache-2.0
// Deadline threads and the driver: they wake it only while they are offline, and it polls once per tick while one is
// online.
#include "scenarios/common.h"

namespace scenarios
{

namespace
{

struct object *queued[2];

void begin()
{
    configure();
    shared = make_object();
}

bool one_invoked()
{
    return invoked == 1;
}

bool two_invoked()
{
    return invoked == 2;
}

void call_offline()
{
    rcu_thread_offline();
    call_rcu_hurry(&queued[0]->head, free_callback);
    sim::until(one_invoked);
}

void start_driver_and_go_offline()
{
    (void)work_driver_start(&rtrcu_domain.drive.work);
    (void)section_register(&rtrcu_domain.gp, RTRCU_DEADLINE | RTRCU_QSBR);
    rcu_thread_offline();
}

void offline_setup()
{
    begin();
    sim::no_timeouts();
    queued[0] = make_object();
    sim::as_thread(sim::thread("loop", call_offline), start_driver_and_go_offline);
}

void come_online_and_call()
{
    rcu_thread_online();
    call_rcu(&queued[0]->head, free_callback);
    rcu_thread_offline();
    rcu_thread_online();
    call_rcu(&queued[1]->head, free_callback);
    rcu_thread_offline();
    sim::until(two_invoked);
}

// A deadline thread stays online until another thread waits for it: the driver polls once per tick.
bool is_waited_for()
{
    return invoked == 1 || gp_word_is_pending(gp_node_word(&rtrcu_domain.gp.level0[0], GP_NORMAL));
}

void call_and_stay()
{
    call_rcu(&queued[0]->head, free_callback);
    sim::until(is_waited_for);
    rcu_thread_offline();
    sim::until(one_invoked);
}

void come_online_and_stay()
{
    rcu_thread_online();
    call_and_stay();
}

// The thread comes online at the end of the wait.
void wait_and_stay()
{
    rcu_thread_online();
    synchronize_rcu();
    call_and_stay();
}

void waited_setup()
{
    begin();
    queued[0] = make_object();
    sim::as_thread(sim::thread("loop", wait_and_stay), start_driver_and_go_offline);
}

void stay_online_setup()
{
    begin();
    queued[0] = make_object();
    sim::as_thread(sim::thread("loop", come_online_and_stay), start_driver_and_go_offline);
}

void online_setup()
{
    begin();
    queued[0] = make_object();
    queued[1] = make_object();
    sim::as_thread(sim::thread("loop", come_online_and_call), start_driver_and_go_offline);
}

} // namespace

extern const sim::Scenario kOfflineCall, kOnlineStay, kOnlineWaited, kOnlineCall;

const sim::Scenario kOfflineCall = {"offline-call",   "an offline deadline thread queues while the driver may sleep",
                                    offline_setup,    nullptr,
                                    check_invariants, 8000};
const sim::Scenario kOnlineStay = {
    "online-stay", "a deadline thread comes online and stays", stay_online_setup, nullptr, check_invariants, 8000};
const sim::Scenario kOnlineWaited = {
    "online-waited", "a deadline thread comes online after a wait", waited_setup, nullptr, check_invariants, 8000};
const sim::Scenario kOnlineCall = {"online-call",    "a deadline thread comes online while the driver goes to sleep",
                                   online_setup,     nullptr,
                                   check_invariants, 8000};

} // namespace scenarios

// SPDX-License-Identifier: MIT OR Apache-2.0
// The promise that no callback waits for the progress of another thread's call_rcu(), or for a timeout.
#include "scenarios/common.h"

namespace scenarios
{

namespace
{

struct object *queued[2];

void begin()
{
    configure();
    sim::no_timeouts();
    shared = make_object();
    queued[0] = make_object();
    queued[1] = make_object();
}

bool two_invoked()
{
    return invoked == 2;
}

// ---- one thread is stopped in the middle of its call, until the other's callback has run ----

bool is_calling, other_has_run;

void note_other(struct rcu_head *head)
{
    other_has_run = true;
    free_callback(head);
}

bool the_other_has_run()
{
    return other_has_run;
}

void keep_from_going_on()
{
    if (is_calling)
        sim::until(the_other_has_run);
}

void call_and_be_kept()
{
    is_calling = true;
    call_rcu_hurry(&queued[0]->head, free_callback);
    is_calling = false;
    sim::until(two_invoked);
}

void call_beside()
{
    call_rcu_hurry(&queued[1]->head, note_other);
    sim::until(two_invoked);
}

void kept_setup(void (*register_other)())
{
    begin();
    is_calling = other_has_run = false;
    int kept = sim::thread("kept", call_and_be_kept);
    sim::as_thread(kept, register_and_start_driver);
    sim::signal(kept, keep_from_going_on);
    sim::as_thread(sim::thread("other", call_beside), register_other);
}

void call_kept_setup()
{
    kept_setup(register_reader);
}

void call_kept_leaves_setup()
{
    kept_setup(register_in_second_leaf);
}

// ---- a thread that waits hurries the driver, and relies on no timeout of the driver's or of its own ----

void wait_for_both()
{
    call_rcu(&queued[0]->head, free_callback);
    rcu_barrier();
    call_rcu(&queued[1]->head, free_callback);
    rcu_barrier();
    sim::expect(invoked == 2, "rcu_barrier() returns after the callbacks queued before it");
}

void barrier_hurry_setup()
{
    begin();
    sim::as_thread(sim::thread("caller", wait_for_both), register_and_start_driver);
}

} // namespace

extern const sim::Scenario kCallStopped, kCallStoppedLeaves, kBarrierHurry;

const sim::Scenario kCallStopped = {"call-stopped",   "a stopped call_rcu() delays no other thread's callback",
                                    call_kept_setup,  nullptr,
                                    check_invariants, 8000};
const sim::Scenario kCallStoppedLeaves = {
    "call-stopped-leaves",  "a stopped call_rcu() in another leaf delays no callback",
    call_kept_leaves_setup, nullptr,
    check_invariants,       8000};
const sim::Scenario kBarrierHurry = {"barrier-hurry",     "rcu_barrier() while the driver paces itself",
                                     barrier_hurry_setup, nullptr,
                                     check_invariants,    8000};

} // namespace scenarios

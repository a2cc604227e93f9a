// SPDX-License-Identifier: MIT OR Apache-2.0
// The real-time priority of the driver and the daemons, which ends after the last real-time producer.
#include "scenarios/common.h"

namespace scenarios
{

namespace
{

// The real-time producer has returned from its call, which notes the producer after it has queued the callback.
bool producer_has_left;

bool producer_is_done()
{
    return producer_has_left && invoked >= 1;
}

bool both_have_run()
{
    return invoked >= 2;
}

// Returns whether the kernel schedules each begun thread of the library as an ordinary thread.
bool all_are_ordinary()
{
    for (const struct work_rt_thread *rt = rtrcu_domain.drive.work.rt.first; rt; rt = rt->next) {
        if (sim::rt_priority_of(rt->thread->plat.thread_id) != 0)
            return false;
    }
    return true;
}

// As if WORK_RT_HOLD_NS had passed since the last real-time producer.
void forget_producer()
{
    rtrcu_store_relaxed(&rtrcu_domain.drive.work.rt.producer_ns, plat_clock_now() - WORK_RT_HOLD_NS);
}

void queue_one()
{
    call_rcu_hurry(&make_object()->head, free_callback);
}

void produce_at_real_time_priority()
{
    plat_sched_set(5, 0);
    queue_one();
    producer_has_left = true;
}

// Threads that sleep keep their priority until they have work, so an ordinary callback follows the real-time one.
void produce_afterwards()
{
    sim::until(producer_is_done);
    forget_producer();
    queue_one();
    sim::until(both_have_run);
    sim::until(all_are_ordinary);
}

void begin()
{
    configure();
    producer_has_left = false;
    // The event may happen at any step, also while a thread of the library is being created.
    sim::event("a second passes", forget_producer);
}

void raised_setup()
{
    begin();
    sim::as_thread(sim::thread("producer", produce_at_real_time_priority), register_and_start_driver);
    sim::thread("ordinary", produce_afterwards);
}

void created_setup()
{
    begin();
    sim::thread("producer", produce_at_real_time_priority);
    sim::thread("ordinary", produce_afterwards);
}

} // namespace

extern const sim::Scenario kPriorityRaised, kPriorityCreated;

const sim::Scenario kPriorityRaised = {
    "priority-raised", "the driver is raised for a producer", raised_setup, nullptr, check_invariants, 8000};
const sim::Scenario kPriorityCreated = {
    "priority-created", "threads are created for a real-time producer", created_setup, nullptr, check_invariants, 8000};

} // namespace scenarios

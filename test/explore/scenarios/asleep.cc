// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads that sleep in the library while no heavy fence is available: no thread waits for their acknowledgment, and
// objects that their handlers read meanwhile are protected.
#include "scenarios/common.h"

namespace scenarios
{

namespace
{

void only_wait()
{
    synchronize_rcu();
    rtrcu_fetch_add(&updaters, (uint32_t)-1);
}

void refuse()
{
    sim::refuse_fences(true, true);
}

void begin()
{
    configure();
    shared = make_object();
}

// Two threads read and wait: one of them sleeps until the grace period of the other ends.
void waiters_setup()
{
    begin();
    refuse();
    updaters = 2;
    sim::as_thread(sim::thread("first", replace_and_wait), register_reader);
    sim::as_thread(sim::thread("second", only_wait), register_reader);
}

void only_barrier()
{
    rcu_barrier();
    rtrcu_fetch_add(&updaters, (uint32_t)-1);
}

void queue_and_wait()
{
    call_rcu(&replace_object()->head, free_callback);
    only_barrier();
}

// As waiters_setup(), but both threads call rcu_barrier(), and one sleeps until the barrier of the other ends.
void barriers_setup()
{
    begin();
    refuse();
    updaters = 2;
    sim::as_thread(sim::thread("first", queue_and_wait), register_reader);
    sim::as_thread(sim::thread("second", only_barrier), register_reader);
}

// A handler reads in a thread that sleeps in the library, while the other thread does not wait for acknowledgments of
// sleepers.
void handler_setup()
{
    begin();
    updaters = 3;
    int sleeper = sim::thread("sleeper", only_wait);
    sim::as_thread(sleeper, register_reader);
    sim::signal(sleeper, read_once);
    sim::event("membarrier and the visit to every CPU are refused from now on", refuse);
    sim::as_thread(sim::thread("updater", replace_twice), register_reader);
}

void only_expedited()
{
    synchronize_rcu_expedited();
    rtrcu_fetch_add(&updaters, (uint32_t)-1);
}

// A waiter sleeps without a timeout until an expedited grace period that has not begun yet ends.  The thread that
// begins this grace period has no heavy fence, and relies on the readers' acknowledgments.
void expedited_setup()
{
    begin();
    updaters = 2;
    sim::as_thread(sim::thread("reader", read_once), register_reader);
    sim::as_thread(sim::thread("first", only_expedited), register_reader);
    sim::as_thread(sim::thread("second", only_expedited), register_reader);
    sim::event("membarrier and the visit to every CPU are refused from now on", refuse);
}

} // namespace

extern const sim::Scenario kAsleep, kAsleepBarrier, kAsleepHandler, kAsleepExpedited;

const sim::Scenario kAsleep = {"asleep",         "two threads wait for each other's grace periods without a fence",
                               waiters_setup,    expect_idle,
                               check_invariants, 6000};
const sim::Scenario kAsleepBarrier = {"asleep-barrier", "two threads wait for each other's callbacks without a fence",
                                      barriers_setup,   expect_nothing_left,
                                      check_invariants, 9000};
const sim::Scenario kAsleepHandler = {"asleep-handler", "a handler reads in a waiting thread, without a fence",
                                      handler_setup,    expect_idle,
                                      check_invariants, 9000};
const sim::Scenario kAsleepExpedited = {
    "asleep-expedited", "two threads wait for expedited grace periods without a fence",
    expedited_setup,    nullptr,
    check_invariants,   9000};

} // namespace scenarios

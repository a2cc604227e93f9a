// SPDX-License-Identifier: MIT OR Apache-2.0
// Loops that sleep until their ready descriptor shows ready callbacks.  A lost wake-up is a deadlock.
#include "scenarios/common.h"

namespace scenarios
{

namespace
{

int number;
uint32_t edges;
int queued;

void begin(int32_t batch)
{
    struct rtrcu_config *config = configure();
    config->policy = RTRCU_POLICY_INLINE;
    config->blimit = batch;
    number = queued = 0;
    edges = 0;
}

void queue_one()
{
    queued++;
    call_rcu_hurry(&make_object()->head, free_callback);
}

void open_descriptor()
{
    register_and_start_driver();
    number = rtrcu_ready_fd();
    sim::expect(number >= 0, "the descriptor is made");
}

bool is_readable()
{
    return sim::event_is_set(number);
}

// The kernel drops an edge whose event was cleared before the loop slept.
bool has_new_edge()
{
    return is_readable() && sim::event_edges(number) != edges;
}

// ---- level-triggered: the second callback becomes ready at any step of the call that runs the first ----

void level_loop()
{
    queue_one();
    while (invoked < 2) { // ends, since nothing else sets the descriptor again and again
        sim::until(is_readable);
        if (queued < 2)
            queue_one();
        (void)rcu_process_callbacks(0);
    }
}

void level_setup()
{
    begin(10);
    sim::no_timeouts();
    sim::as_thread(sim::thread("loop", level_loop), open_descriptor);
}

// ---- edge-triggered: a call runs one callback, so each further callback needs a new edge ----

void edge_loop()
{
    queue_one();
    queue_one();
    while (invoked < 3) { // ends, since each round waits for an edge
        sim::until(has_new_edge);
        edges = sim::event_edges(number);
        (void)rcu_process_callbacks(0);
        if (queued < 3)
            queue_one();
    }
}

void edge_setup()
{
    begin(1);
    sim::no_timeouts();
    sim::as_thread(sim::thread("loop", edge_loop), open_descriptor);
}

// ---- the loop exits while its callback becomes ready ----

bool is_freed_by_another()
{
    return invoked == 1;
}

void queue_and_end()
{
    queue_one();
}

void wait_for_the_callback()
{
    sim::until(is_freed_by_another);
}

void exit_setup()
{
    begin(10);
    sim::as_thread(sim::thread("loop", queue_and_end), open_descriptor);
    sim::as_thread(sim::thread("other", wait_for_the_callback), register_reader);
}

} // namespace

extern const sim::Scenario kReadyLevel, kReadyEdge, kReadyExit;

const sim::Scenario kReadyLevel = {
    "ready-level", "a loop sleeps until its ready descriptor is readable", level_setup, nullptr, nullptr, 8000};
const sim::Scenario kReadyEdge = {
    "ready-edge", "a loop sleeps until its ready descriptor has a new edge", edge_setup, nullptr, nullptr, 12000};
const sim::Scenario kReadyExit = {"ready-exit", "a thread with a ready descriptor exits while callbacks become ready",
                                  exit_setup,   nullptr,
                                  nullptr,      8000};

} // namespace scenarios

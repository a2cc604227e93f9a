// SPDX-License-Identifier: MIT OR Apache-2.0
// Servers of an adopted flavour, and what its rcu_barrier() queues to each of them.
#include "scenarios/common.h"

namespace scenarios
{

namespace
{

uint64_t generation;
uint32_t sleeper;
struct rtrcu_adopted_reader blocks[12];
struct rtrcu_adopted *adopted;

struct rtrcu_adopted_reader *self()
{
    return &blocks[plat_thread_id().number];
}

// A lost wake-up is a dead end, and so is memory that is not given back.
void begin()
{
    configure();
    generation = 1;
    const struct rtrcu_adopt_flavour flavour = {RTRCU_ADOPT_MB, "simulated", &generation, &sleeper,
                                                nullptr,        self,        nullptr};
    adopted = adopt_flavour(&rtrcu_domain.adopt, &flavour);
    shared = make_object();
    sim::no_timeouts();
}

bool nothing_is_left()
{
    return sim::live_allocations() == 0;
}

// The last marker may be given back by its server, behind the barrier's return.
void call_and_wait_for_all()
{
    adopt_server_call(&adopted->ordinary, &shared->head, free_callback);
    adopt_barrier(adopted);
    sim::expect(invoked == 1, "the callback has run when the barrier returns");
    sim::until(nothing_is_left);
}

void markers_setup()
{
    begin();
    sim::thread("barrier", call_and_wait_for_all);
}

// ---- servers come between their count and the markers: none, as many as there is room for, and more ----

bool there_is_room()
{
    return sim::live_allocations() > 1 || invoked;
}

void create_two()
{
    sim::until(there_is_room);
    (void)adopt_server_create(adopted, 0, -1);
    (void)adopt_server_create(adopted, 0, -1);
}

void come_setup()
{
    begin();
    sim::thread("barrier", call_and_wait_for_all);
    sim::thread("creator", create_two);
}

// ---- two threads free the servers of all CPUs ----

bool all_are_made, all_may_go;
size_t pages_before;

bool are_made()
{
    return all_are_made;
}

bool may_go()
{
    return all_may_go;
}

void create_and_free()
{
    sim::expect(adopt_servers_create_all(adopted, 0) == 0, "each CPU has a server");
    all_are_made = true;
    sim::until(may_go);
    adopt_servers_free_all(adopted);
}

void free_too()
{
    sim::until(are_made);
    all_may_go = true;
    adopt_servers_free_all(adopted);
}

void freed_setup()
{
    begin();
    all_are_made = all_may_go = false;
    pages_before = sim::live_pages();
    sim::thread("first", create_and_free);
    sim::thread("second", free_too);
}

void freed_end()
{
    sim::expect(sim::live_pages() == pages_before, "each server is freed");
    sim::expect(rtrcu_load_relaxed(&adopted->cpu_servers) == 0, "no CPU counts as having one");
}

} // namespace

extern const sim::Scenario kServersMarkers, kServersCome, kServersFreed;

const sim::Scenario kServersMarkers = {
    "servers-markers", "what a barrier queues is given back", markers_setup, nullptr, check_invariants, 6000};
const sim::Scenario kServersCome = {
    "servers-come", "servers come while a barrier counts them", come_setup, nullptr, check_invariants, 12000};
const sim::Scenario kServersFreed = {
    "servers-freed", "two threads free the servers of all CPUs", freed_setup, freed_end, check_invariants, 12000};

} // namespace scenarios

// SPDX-License-Identifier: MIT OR Apache-2.0
// Servers of an adopted flavour, and the markers that its rcu_barrier() queues to each of them.
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

void begin_with_timeouts(uint32_t kind)
{
    configure();
    generation = 1;
    const struct rtrcu_adopt_flavour flavour = {kind,    "simulated", &generation, &sleeper,
                                                nullptr, self,        nullptr,     nullptr};
    adopted = urcu_flavour(&rtrcu_domain.urcu, &flavour);
    shared = make_object();
}

// Settings with which a lost wake-up is a deadlock, and leaked memory a failure.
void begin()
{
    begin_with_timeouts(RTRCU_ADOPT_MB);
    sim::no_timeouts();
}

bool nothing_is_left()
{
    return sim::live_allocations() == 0;
}

// The last marker may be freed by its server, after the barrier has returned.
void call_and_wait_for_all()
{
    urcu_server_call(&adopted->ordinary, &shared->head, free_callback);
    urcu_barrier(adopted);
    sim::expect(invoked == 1, "the callback has run when the barrier returns");
    sim::until(nothing_is_left);
}

void markers_setup()
{
    begin();
    sim::thread("barrier", call_and_wait_for_all);
}

// ---- after a barrier has counted the servers, two more are created, before or after it queues its markers ----

bool there_is_room()
{
    return sim::live_allocations() > 1 || invoked;
}

void create_two()
{
    sim::until(there_is_room);
    (void)urcu_server_create(adopted, 0, -1);
    (void)urcu_server_create(adopted, 0, -1);
}

// A barrier that finds an unfinished link pauses for a moment, which only a timeout ends.
void come_setup()
{
    begin_with_timeouts(RTRCU_ADOPT_MB);
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
    sim::expect(urcu_servers_create_all(adopted, 0) == 0, "each CPU has a server");
    all_are_made = true;
    sim::until(may_go);
    urcu_servers_free_all(adopted);
}

void free_too()
{
    sim::until(are_made);
    all_may_go = true;
    urcu_servers_free_all(adopted);
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

// ---- a thread queues through the replacement libraries while the servers of all CPUs are created and freed ----

void join()
{
    (void)urcu_register(adopted);
}

void enter()
{
    rtrcu_store_release(&self()->word, rtrcu_load_relaxed(&generation));
    rtrcu_fence_full();
}

void leave()
{
    rtrcu_fence_full();
    rtrcu_store_release(&self()->word, 0);
    rtrcu_fence_full();
    if (rtrcu_load_relaxed(&sleeper) != 0) {
        rtrcu_store_relaxed(&sleeper, 0);
        plat_futex_wake_shared(&sleeper, 1);
    }
}

void queue_one()
{
    bool inside = urcu_has_cpu_servers(adopted);
    if (inside)
        enter();
    sim::until(are_made); // orders nothing: the thread may or may not see the new servers
    urcu_call(adopted, &shared->head, free_callback);
    if (inside)
        leave();
    urcu_barrier(adopted);
    sim::expect(invoked == 1, "the callback has run when the barrier returns");
}

void come_and_go()
{
    sim::expect(urcu_servers_create_all(adopted, 0) == 0, "each CPU has a server");
    all_are_made = true;
    urcu_servers_free_all(adopted);
}

// The callbacks of a freed server are moved to another server, whose pause delays them: so timeouts are allowed.
void queued_setup()
{
    begin_with_timeouts(RTRCU_ADOPT_MB);
    all_are_made = false;
    sim::as_thread(sim::thread("caller", queue_one), join);
    sim::thread("creator", come_and_go);
}

bool one_is_over;

bool is_one_over()
{
    return one_is_over;
}

// Another thread's grace period, which did not cover these servers, may end before they are freed.
void wait_for_one()
{
    sim::until(are_made);
    urcu_synchronize(adopted, "synchronize_rcu");
    one_is_over = true;
}

void queue_late()
{
    sim::until(is_one_over);
    queue_one();
}

void late_setup()
{
    begin_with_timeouts(RTRCU_ADOPT_MB);
    all_are_made = one_is_over = false;
    sim::as_thread(sim::thread("caller", queue_late), join);
    sim::thread("creator", come_and_go);
    sim::thread("updater", wait_for_one);
}

// ---- two online threads create the servers of all CPUs during a barrier ----

uint32_t makers;

void make_all()
{
    sim::expect(urcu_servers_create_all(adopted, 0) == 0, "each CPU has a server");
    sim::expect(self()->word != 0, "a thread that was online is online again");
    urcu_unregister(adopted);
    rtrcu_fetch_add(&makers, (uint32_t)-1);
}

bool both_have_made()
{
    return rtrcu_load_acquire(&makers) == 0;
}

// A superfluous server may hold the barrier's marker, and waits for online threads, including its creator.
void wait_and_free()
{
    urcu_barrier(adopted);
    sim::until(both_have_made);
    urcu_servers_free_all(adopted);
}

void made_setup()
{
    begin_with_timeouts(RTRCU_ADOPT_QSBR);
    makers = 2;
    pages_before = sim::live_pages();
    sim::as_thread(sim::thread("first", make_all), join);
    sim::as_thread(sim::thread("second", make_all), join);
    sim::thread("barrier", wait_and_free);
}

// ---- a server whose thread could not be created is freed during a barrier, which requests that thread ----

void make_and_free_one()
{
    urcu_server_free(adopted, urcu_server_create(adopted, 0, -1));
}

void refused_setup()
{
    begin_with_timeouts(RTRCU_ADOPT_MB);
    pages_before = sim::live_pages();
    sim::may_fail(sim::kThreads, 2);
    sim::thread("freer", make_and_free_one);
    sim::thread("barrier", call_and_wait_for_all);
}

} // namespace

extern const sim::Scenario kServersMarkers, kServersAdded, kServersFreed, kServersQueued, kServersLate, kServersCreated,
    kServersRefused;

const sim::Scenario kServersMarkers = {
    "servers-markers", "a barrier frees its markers", markers_setup, nullptr, check_invariants, 6000};
const sim::Scenario kServersAdded = {
    "servers-added", "servers are added while a barrier counts them", come_setup, nullptr, check_invariants, 12000};
const sim::Scenario kServersFreed = {
    "servers-freed", "two threads free the servers of all CPUs", freed_setup, freed_end, check_invariants, 12000};
const sim::Scenario kServersQueued = {"servers-queued", "a thread queues while servers are created and freed",
                                      queued_setup,     nullptr,
                                      check_invariants, 12000};
const sim::Scenario kServersLate = {
    "servers-late", "the same while another thread's grace period ends", late_setup, nullptr, check_invariants, 12000};
const sim::Scenario kServersCreated = {
    "servers-created", "two threads create the servers of all CPUs", made_setup, freed_end, check_invariants, 20000};
const sim::Scenario kServersRefused = {
    "servers-refused", "a server without a thread is freed", refused_setup, freed_end, check_invariants, 20000};

} // namespace scenarios

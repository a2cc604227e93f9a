// SPDX-License-Identifier: MIT OR Apache-2.0
// Rings of deferred functions, which their owners, the default server and waiting threads drain.
#include "scenarios/common.h"

#pragma push_macro("rtrcu_store_relaxed")
#undef rtrcu_store_relaxed
#define rtrcu_store_relaxed(p, v) rtrcu_store_release(p, v)
#include <rtrcu/detail/nesting.h>
#pragma pop_macro("rtrcu_store_relaxed")

namespace scenarios
{

namespace
{

constexpr uint32_t kAsleep = UINT32_MAX;
// One more than a ring holds.
constexpr uint32_t kRingAndOne = URCU_RING + 1;

uint64_t generation;
uint32_t sleeper;
const uint32_t light = 0;
struct rtrcu_adopted_reader blocks[12];
struct adopt_ring *rings[12];
uint32_t ran;
struct rtrcu_adopted *adopted;

struct rtrcu_adopted_reader *self()
{
    return &blocks[plat_thread_id().number];
}

struct adopt_ring **ring()
{
    return &rings[plat_thread_id().number];
}

void begin()
{
    configure();
    rtrcu_domain.config.first.qhimark = 0; /* no pause */
    generation = 1;
    ran = 0;
    const struct rtrcu_adopt_flavour flavour = {RTRCU_ADOPT_MB, "simulated", &generation, &sleeper,
                                                nullptr,        self,        nullptr,     ring};
    adopted = urcu_flavour(&rtrcu_domain.urcu, &flavour);
    shared = make_object();
}

void invariants()
{
    check_invariants();
}

void join()
{
    (void)urcu_register(adopted);
}

void read_adopted()
{
    rtrcu_adopted_enter(&self()->word, &generation, &light);
    use_object();
    bool left = rtrcu_adopted_leave(&self()->word, &generation, &light);
    if (left && rtrcu_load_relaxed(&sleeper) == kAsleep) {
        rtrcu_store_relaxed(&sleeper, 0);
        plat_futex_wake_shared(&sleeper, 1);
    }
}

void free_deferred(void *object)
{
    free_object(static_cast<struct object *>(object));
    rtrcu_fetch_add(&ran, 1);
}

uint32_t have_run()
{
    return rtrcu_load_relaxed(&ran);
}

void defer_old()
{
    urcu_defer(adopted, free_deferred, rtrcu_exchange(&shared, make_object()));
}

// ---- two threads, each with one function more than its ring holds ----

void defer_ring()
{
    for (uint32_t i = 0; i < kRingAndOne; i++)
        defer_old();
    rtrcu_fetch_add(&updaters, (uint32_t)-1);
}

bool rings_are_run()
{
    return have_run() == 2 * kRingAndOne;
}

// Only the server runs the functions that are left in the ring, and its sleep has no timeout.
void defer_ring_and_stay()
{
    defer_ring();
    sim::until(rings_are_run);
}

void rings_setup()
{
    begin();
    sim::no_timeouts();
    updaters = 2;
    sim::as_thread(sim::thread("reader", read_adopted), join);
    sim::thread("first", defer_ring_and_stay);
    sim::thread("second", defer_ring);
}

// ---- two threads that defer functions and wait for all deferred functions ----

void defer_and_wait()
{
    defer_old();
    urcu_defer_barrier(adopted);
    sim::expect(have_run() >= 1, "the function has run when the barrier returns");
    rtrcu_fetch_add(&updaters, (uint32_t)-1);
}

void idle()
{
    sim::expect(have_run() == 2, "each function has run once");
}

void barriers_setup()
{
    begin();
    sim::no_timeouts();
    updaters = 2;
    sim::as_thread(sim::thread("reader", read_adopted), join);
    sim::thread("first", defer_and_wait);
    sim::thread("second", defer_and_wait);
}

// ---- a fork while a thread defers functions: the child's thread keeps its ring ----

uint32_t deferred;

bool is_deferred()
{
    return rtrcu_load_acquire(&deferred) != 0;
}

void defer_and_stay()
{
    defer_old();
    rtrcu_store_release(&deferred, 1);
    sim::until(is_deferred);
}

void fork_and_drain()
{
    sim::until(is_deferred);
    urcu_pause(&rtrcu_domain.urcu); // meanwhile the server runs no deferred function
    uint32_t before = have_run();
    sim::fork();
    urcu_defer_barrier(adopted);
    sim::expect(have_run() == 1, "functions that the parent had not run run once in the child");
    defer_old();
    urcu_defer_barrier(adopted);
    sim::expect(before <= 1 && have_run() == 2, "functions that the child defers run too");
}

void fork_setup()
{
    begin();
    sim::no_timeouts();
    deferred = 0;
    sim::thread("deferrer", defer_and_stay);
    sim::thread("forker", fork_and_drain);
}

} // namespace

extern const sim::Scenario kDeferredRings, kDeferredBarriers, kDeferredFork;

const sim::Scenario kDeferredRings = {
    "deferred-rings", "two full rings, their owners and the server", rings_setup, nullptr, invariants, 40000};
const sim::Scenario kDeferredBarriers = {
    "deferred-barriers", "two threads wait for deferred functions", barriers_setup, idle, invariants, 20000};
const sim::Scenario kDeferredFork = {
    "deferred-fork", "a fork while a thread defers functions", fork_setup, nullptr, invariants, 12000};

} // namespace scenarios

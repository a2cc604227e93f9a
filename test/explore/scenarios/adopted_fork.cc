// SPDX-License-Identifier: MIT OR Apache-2.0
// Forks while the servers of an adopted flavour run.
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

void begin()
{
    configure();
    generation = 1;
    const struct rtrcu_adopt_flavour flavour = {RTRCU_ADOPT_MB, "simulated", &generation, &sleeper,
                                                nullptr,        self,        nullptr,     nullptr};
    adopted = urcu_flavour(&rtrcu_domain.urcu, &flavour);
    shared = make_object();
}

void invariants()
{
    check_invariants();
}

void call_and_wait_for_all()
{
    urcu_call(adopted, &replace_object()->head, free_callback);
    urcu_barrier(adopted);
    sim::expect(invoked == 1, "the callback has run once");
    rtrcu_fetch_add(&updaters, (uint32_t)-1);
}

uint32_t handle_has_one;

void call_and_free_handle()
{
    struct adopt_server *server = urcu_server_create(adopted, 0, -1);
    urcu_server_call(server, &replace_object()->head, free_callback);
    rtrcu_store_release(&handle_has_one, 1);
    urcu_server_free(adopted, server);
    rtrcu_fetch_add(&updaters, (uint32_t)-1);
}

bool handle_has_it()
{
    return rtrcu_load_acquire(&handle_has_one) != 0;
}

// ---- a fork during a barrier whose caller does not exist in the child ----

void fork_and_wait_for_all()
{
    sim::fork();
    urcu_fork_ends(adopted, true);
    urcu_call(adopted, &make_object()->head, free_callback);
    urcu_barrier(adopted);
    sim::expect(invoked >= 1, "the child's own callbacks are invoked after those from its parent");
}

void fork_setup()
{
    begin();
    sim::thread("caller", call_and_wait_for_all);
    sim::thread("forker", fork_and_wait_for_all);
}

void fork_and_wait_for_handle()
{
    sim::until(handle_has_it);
    sim::fork();
    urcu_fork_ends(adopted, true);
    urcu_barrier(adopted);
    sim::expect(invoked == 1, "a server's callbacks run in the child, where no thread frees it any more");
}

void fork_free_setup()
{
    begin();
    sim::no_timeouts(); // a timeout that ended the forking thread's wait would lose the running callback
    handle_has_one = 0;
    sim::thread("updater", call_and_free_handle);
    sim::thread("forker", fork_and_wait_for_handle);
}

} // namespace

extern const sim::Scenario kAdoptedFork, kAdoptedForkFree;

const sim::Scenario kAdoptedFork = {"adopted-fork", "a fork during a barrier", fork_setup, nullptr, invariants, 12000};
const sim::Scenario kAdoptedForkFree = {
    "adopted-fork-free", "a fork while a handle is freed", fork_free_setup, nullptr, invariants, 12000};
} // namespace scenarios

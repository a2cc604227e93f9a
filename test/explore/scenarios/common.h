// SPDX-License-Identifier: MIT OR Apache-2.0
// Helpers of the scenarios: the start of a domain, an object that readers use and updaters replace, checks.
#pragma once

extern "C" {
#include "api/api.h"
}

#include "scenario.h"

namespace scenarios
{

// Called once, before any schedule: prepares the domain with a second leaf, which is used only if a scenario requests
// it.
void prepare_domain();

// Set the configuration that keeps schedules short: no spinning, no stall reports, small batches.
struct rtrcu_config *configure();
// Choose the driver; to be called before the first thread.
void use_driver(int32_t driver);
// Register the calling thread; for sim::as_thread().
void register_reader();
void register_and_start_driver();
void register_qsbr();
void register_deadline();
// Register the calling thread in the last slot of the first leaf.
void register_in_last_slot();
// Use both leaves, and register the calling thread in the second.
void register_in_second_leaf();

// An object that readers use: an access after free() is detected.
struct object {
    struct rcu_head head;
    int value;
};
extern struct object *shared;
struct object *make_object();
// Inside a section: read the shared object twice, with a step of other threads in between.
void use_object();
// One whole section of a reader.
void read_once();
// As read_once(); then the thread stays until the updaters have finished, so that its exit makes no report.
void read_and_stay();
void stay();
// The number of updaters that stay() waits for.
extern uint32_t updaters;
// Publish a new object; returns the old one.
struct object *replace_object();
void free_object(struct object *object);
// A callback that frees its object, and the number of such callbacks that have run.
void free_callback(struct rcu_head *head);
extern int invoked;
// Publish, wait for a grace period, free.
void replace_and_wait();
void replace_twice();
// As replace_and_wait(), for several updaters at the same time; the second one waits for an expedited grace period.
void exchange_and_wait();
void exchange_and_expedite();

// Expect that all objects queued to be freed are freed.
void expect_nothing_left();
// Expect that no grace period is in progress and no lock is held.
void expect_idle();
// Check the invariants of the rooms' headers that hold between any two steps.
void check_invariants();

} // namespace scenarios

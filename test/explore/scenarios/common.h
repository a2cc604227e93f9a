// SPDX-License-Identifier: MIT OR Apache-2.0
// What the scenarios share: the start of a domain, an object that readers use and updaters replace, checks.
#pragma once

extern "C" {
#include "api/api.h"
}

#include "scenario.h"

namespace scenarios
{

// Once, before any schedule: the domain with a second leaf, which is in use only where a scenario says so.
void prepare_domain();

// The configuration that makes schedules short: no spinning, no stall reports, small batches.
struct rtrcu_config *configure();
// Who moves grace periods and callbacks; before the first thread.
void use_driver(int32_t driver);
// Register the calling thread (in sim::as_thread()).
void register_reader();
void register_and_start_driver();
void register_qsbr();
void register_deadline();
// In the last slot of the first leaf.
void register_in_last_slot();
// Use both leaves, and register the calling thread in the second.
void register_in_second_leaf();

// What readers use: anybody who touches it after free() is caught.
struct object {
    struct rcu_head head;
    int value;
};
extern struct object *shared;
struct object *make_object();
// Look at the shared object twice, others in between.  Inside a section.
void use_object();
// One whole section of a reader.
void read_once();
// The same by a thread that stays until the updaters have finished, so that its exit reports nothing for it.
void read_and_stay();
void stay();
// How many updaters stay() waits for.
extern uint32_t updaters;
// Publish a new object; the old one.
struct object *replace_object();
void free_object(struct object *object);
// A callback that frees its object, and how many have.
void free_callback(struct rcu_head *head);
extern int invoked;
// Publish, wait for a grace period, free.
void replace_and_wait();
void replace_twice();
// The same beside other updaters, and by an expedited one.
void exchange_and_wait();
void exchange_and_expedite();

// Everything that was queued to be freed is freed.
void expect_nothing_left();
// No grace period is under way, nobody holds anything.
void expect_idle();
// The invariants of the rooms' headers that hold between any two steps.
void check_invariants();

} // namespace scenarios

// SPDX-License-Identifier: MIT OR Apache-2.0
// call_rcu_rt(): it runs a callback immediately if and only if no other thread can read.
#include "scenarios/common.h"

#include <rtrcu/task.h>

namespace scenarios
{

namespace
{

void begin()
{
    configure();
    shared = make_object();
}

bool is_invoked()
{
    return invoked == 1;
}

void call_direct()
{
    call_rcu_rt(&replace_object()->head, free_callback);
    sim::until(is_invoked);
}

// ---- a thread registers and reads while the updater checks for other threads ----

void newcomer_setup()
{
    begin();
    sim::as_thread(sim::thread("updater", call_direct), register_reader);
    sim::thread("newcomer", read_once);
}

// ---- a thread exits ----

void leaver_setup()
{
    begin();
    sim::as_thread(sim::thread("updater", call_direct), register_reader);
    sim::as_thread(sim::thread("leaver", read_once), register_reader);
}

// ---- a task of the updater's own thread is parked inside a section ----

struct rcu_task task;

void call_while_parked()
{
    rcu_read_lock();
    struct object *held = rcu_dereference(shared);
    rtrcu_task_park(&task);
    call_rcu_rt(&replace_object()->head, free_callback);
    rtrcu_task_resume(&task);
    sim::expect(held->value == 42, "a parked task may use the object until its section ends");
    rcu_read_unlock();
    sim::until(is_invoked);
}

void parked_setup()
{
    begin();
    rtrcu_task_init(&task, "task");
    sim::as_thread(sim::thread("updater", call_while_parked), register_reader);
}

} // namespace

extern const sim::Scenario kDirect, kDirectLeave, kDirectTask;

const sim::Scenario kDirect = {
    "direct", "call_rcu_rt() while a thread registers", newcomer_setup, nullptr, check_invariants, 8000};
const sim::Scenario kDirectLeave = {
    "direct-leave", "call_rcu_rt() while a thread exits", leaver_setup, nullptr, check_invariants, 8000};
const sim::Scenario kDirectTask = {"direct-task",    "call_rcu_rt() while a task of the same thread is parked",
                                   parked_setup,     nullptr,
                                   check_invariants, 8000};

} // namespace scenarios

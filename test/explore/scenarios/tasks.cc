// SPDX-License-Identifier: MIT OR Apache-2.0
// Tasks that park inside a section on one thread, and end it on another.
#include "scenarios/common.h"

#include <rtrcu/task.h>

namespace scenarios
{

namespace
{

struct rcu_task task;
struct rcu_task second_task;
struct object *held; // what the parked task goes on using
bool parked;

bool is_parked()
{
    return parked;
}

void lock_and_park()
{
    rcu_read_lock();
    held = rcu_dereference(shared);
    use_object();
    rtrcu_task_park(&task);
    rtrcu_store_release(&parked, true);
}

void resume_and_unlock()
{
    sim::until(is_parked);
    rtrcu_task_resume(&task);
    sim::expect(held->value == 42, "a task may use the object until its section ends, wherever it goes on");
    rcu_read_unlock();
}

void park_and_stay()
{
    lock_and_park();
    stay();
}

void resume_and_stay()
{
    resume_and_unlock();
    stay();
}

void park_and_resume()
{
    lock_and_park();
    resume_and_unlock();
    stay();
}

// The thread reads on its own behalf while its task is parked.
void park_and_read()
{
    lock_and_park();
    read_and_stay();
}

// Two tasks take turns on a thread: the unlock of the one takes the slow path beside the other, which is parked.
void park_two_in_turn()
{
    rcu_read_lock();
    rtrcu_task_park(&second_task);
    lock_and_park();
    rtrcu_task_resume(&second_task);
    rcu_read_unlock();
    stay();
}

void park_and_exit()
{
    lock_and_park();
}

void begin(int32_t lists, void (*parker)(), void (*resumer)())
{
    configure()->blocked_lists = lists;
    shared = make_object();
    parked = false;
    held = nullptr;
    rtrcu_task_init(&task, "task");
    rtrcu_task_init(&second_task, "second task");
    sim::no_timeouts();
    sim::as_thread(sim::thread("parker", parker), register_reader);
    if (resumer)
        sim::as_thread(sim::thread("resumer", resumer), register_reader);
    sim::thread("updater", replace_and_wait);
}

void move_setup()
{
    begin(RTRCU_BLOCKED_LISTS_PERCPU, park_and_stay, resume_and_stay);
}

void move_node_setup()
{
    begin(RTRCU_BLOCKED_LISTS_NODE, park_and_stay, resume_and_stay);
}

void same_setup()
{
    begin(RTRCU_BLOCKED_LISTS_PERCPU, park_and_resume, nullptr);
}

void read_setup()
{
    begin(RTRCU_BLOCKED_LISTS_PERCPU, park_and_read, resume_and_stay);
}

void two_setup()
{
    begin(RTRCU_BLOCKED_LISTS_PERCPU, park_two_in_turn, resume_and_stay);
}

void exit_setup()
{
    begin(RTRCU_BLOCKED_LISTS_PERCPU, park_and_exit, resume_and_stay);
}

} // namespace

extern const sim::Scenario kTaskMove, kTaskMoveNode, kTaskSame, kTaskRead, kTaskTwo, kTaskExit;

const sim::Scenario kTaskMove = {"task-move",      "a task parks on one thread and ends its section on another",
                                 move_setup,       expect_idle,
                                 check_invariants, 4000};
const sim::Scenario kTaskMoveNode = {
    "task-node", "the same, straight to the leaf's list", move_node_setup, expect_idle, check_invariants, 4000};
const sim::Scenario kTaskSame = {
    "task-same", "a task parks and resumes on one thread", same_setup, expect_idle, check_invariants, 4000};
const sim::Scenario kTaskRead = {
    "task-read", "the thread reads while its task is parked", read_setup, expect_idle, check_invariants, 4000};
const sim::Scenario kTaskTwo = {
    "task-two", "two tasks take turns on a thread", two_setup, expect_idle, check_invariants, 4000};
const sim::Scenario kTaskExit = {
    "task-exit", "the thread ends while its task is parked", exit_setup, expect_idle, check_invariants, 4000};

} // namespace scenarios

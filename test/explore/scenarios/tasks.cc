// SPDX-License-Identifier: MIT OR Apache-2.0
// Tasks that park inside a section on one thread, and end it on another.
#include "scenarios/common.h"

#include <stdlib.h>

#include <rtrcu/task.h>

namespace scenarios
{

namespace
{

struct rcu_task task;
struct rcu_task second_task;
struct object *held; // the object that the parked task continues to use
bool parked;

bool is_parked()
{
    return parked;
}

void wait_until_parked()
{
    sim::until(is_parked);
    (void)rtrcu_load_acquire(&parked);
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
    wait_until_parked();
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

// The thread reads itself while its task is parked.
void park_and_read()
{
    lock_and_park();
    read_and_stay();
}

// Two tasks alternate on a thread: an unlock of one takes the slow path while the other is parked.
void park_two_in_turn()
{
    rcu_read_lock();
    rtrcu_task_park(&second_task);
    lock_and_park();
    rtrcu_task_resume(&second_task);
    rcu_read_unlock();
    stay();
}

// Two threads park a task each: a grace period may wait for both.
void park_beside()
{
    rcu_read_lock();
    use_object();
    rtrcu_task_park(&second_task);
    rtrcu_task_resume(&second_task);
    rcu_read_unlock();
    stay();
}

// A second task parks on the thread.  The first task's section may be over by then: the thread has reported, and
// promotion must not treat it as a thread that is still waited for.
void park_and_park_again()
{
    lock_and_park();
    read_once(); // a section in which a scan may find the thread
    rcu_read_lock();
    rtrcu_task_park(&second_task);
    rtrcu_task_resume(&second_task);
    rcu_read_unlock();
    stay();
}

void park_and_exit()
{
    lock_and_park();
}

// The threads that park and resume; signals may be sent to them.
int parker_id, resumer_id;

void begin(int32_t lists, void (*parker)(), void (*resumer)())
{
    configure()->blocked_lists = lists;
    shared = make_object();
    parked = false;
    held = nullptr;
    rtrcu_task_init(&task, "task");
    rtrcu_task_init(&second_task, "second task");
    sim::no_timeouts();
    parker_id = sim::thread("parker", parker);
    sim::as_thread(parker_id, register_reader);
    if (resumer) {
        resumer_id = sim::thread("resumer", resumer);
        sim::as_thread(resumer_id, register_reader);
    }
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

void both_setup()
{
    begin(RTRCU_BLOCKED_LISTS_PERCPU, park_and_resume, park_beside);
}

void read_setup()
{
    begin(RTRCU_BLOCKED_LISTS_PERCPU, park_and_read, resume_and_stay);
}

void two_setup()
{
    begin(RTRCU_BLOCKED_LISTS_PERCPU, park_two_in_turn, resume_and_stay);
}

void again_setup()
{
    begin(RTRCU_BLOCKED_LISTS_PERCPU, park_and_park_again, resume_and_stay);
}

void exit_setup()
{
    begin(RTRCU_BLOCKED_LISTS_PERCPU, park_and_exit, resume_and_stay);
}

// The task's memory is freed with its section.
struct rcu_task *short_lived;

void park_short_lived()
{
    rcu_read_lock();
    rtrcu_task_park(short_lived);
    rtrcu_store_release(&parked, true);
    stay();
}

void resume_and_free()
{
    wait_until_parked();
    rtrcu_task_resume(short_lived);
    rcu_read_unlock();
    rtrcu_task_exit(short_lived);
    free(short_lived);
    stay();
}

void freed_setup()
{
    begin(RTRCU_BLOCKED_LISTS_PERCPU, park_short_lived, resume_and_free);
    short_lived = static_cast<struct rcu_task *>(malloc(sizeof(*short_lived)));
    rtrcu_task_init(short_lived, "short-lived");
}

// ---- handlers that read while their thread moves a task ----

void park_handler_setup()
{
    begin(RTRCU_BLOCKED_LISTS_PERCPU, park_and_stay, resume_and_stay);
    sim::signal(parker_id, read_once);
}

void move_handler_setup()
{
    begin(RTRCU_BLOCKED_LISTS_PERCPU, park_and_stay, resume_and_stay);
    sim::signal(resumer_id, read_once);
}

bool runs_or_is_over()
{
    return seq_is_running(rtrcu_domain.gp.machine[GP_NORMAL].seq) || updaters == 0;
}

// Lets other threads take a few steps.
void go_about()
{
    for (int i = 0; i < 12; i++)
        sim::step();
}

// The grace period waits for the first task, and has found this thread outside when the second parks.
void park_both()
{
    rcu_read_lock();
    held = rcu_dereference(shared);
    rtrcu_task_park(&task);
    sim::until(runs_or_is_over);
    go_about();
    rcu_read_lock();
    rtrcu_task_park(&second_task);
    rtrcu_store_release(&parked, true);
    stay();
}

// The handler runs while one task is mounted beside the other.
void resume_both()
{
    wait_until_parked();
    rtrcu_task_resume(&second_task);
    sim::signal(resumer_id, read_once);
    rtrcu_task_resume(&task);
    go_about();
    sim::expect(held->value == 42,
                "a task may use the object until its section ends, whatever handlers read beside it");
    rcu_read_unlock();
    rcu_read_unlock();
    stay();
}

void resume_handler_setup()
{
    begin(RTRCU_BLOCKED_LISTS_PERCPU, park_both, resume_both);
}

void node_handler_setup()
{
    begin(RTRCU_BLOCKED_LISTS_NODE, park_and_stay, resume_and_stay);
    sim::signal(resumer_id, read_once);
}

// The flag is set already, so that the thread's own report races with the other kind's promotion.
void register_armed()
{
    register_reader();
    reader_arm_self();
}

// Both kinds of grace period wait for the task and for its thread.
void kinds_setup()
{
    configure();
    updaters = 2;
    shared = make_object();
    parked = false;
    rtrcu_task_init(&task, "task");
    sim::no_timeouts();
    sim::as_thread(sim::thread("parker", park_and_stay), register_armed);
    sim::as_thread(sim::thread("resumer", resume_and_stay), register_reader);
    sim::thread("normal", exchange_and_wait);
    sim::thread("expedited", exchange_and_expedite);
}

// Full fences from the start: the threads that begin and end the task's section fence it.
void full_setup()
{
    reader_fences_start_full(&rtrcu_domain.registry);
    begin(RTRCU_BLOCKED_LISTS_PERCPU, park_and_read, resume_and_stay);
}

// The task parks on a thread that can have no record, and resumes on one that has.
void begin_without_record(void (*resumer)())
{
    configure();
    shared = make_object();
    parked = false;
    rtrcu_task_init(&task, "task");
    rtrcu_task_init(&second_task, "second task");
    sim::no_timeouts();
    sim::may_fail(sim::kExitHooks, 2);
    sim::thread("parker", park_and_stay);
    sim::as_thread(sim::thread("resumer", resumer), register_reader);
    sim::thread("updater", replace_and_wait);
}

void anonymous_setup()
{
    begin_without_record(resume_and_stay);
}

// A thread without a record resumes the task and reads inside its section, which registers the thread.
void resume_and_read()
{
    wait_until_parked();
    rtrcu_task_resume(&task);
    rcu_read_lock();
    use_object();
    rcu_read_unlock();
    sim::expect(held->value == 42, "a task may use the object until its section ends, on a newcomer too");
    rcu_read_unlock();
    stay();
}

void newcomer_setup()
{
    begin(RTRCU_BLOCKED_LISTS_PERCPU, park_and_stay, nullptr);
    sim::thread("newcomer", resume_and_read);
}

// Another task takes over the section that a task brought to this thread.  A grace period that found the thread outside
// still waits for it.
void resume_and_list()
{
    wait_until_parked();
    rtrcu_task_resume(&task);
    rtrcu_task_list(&second_task);
    sim::expect(held->value == 42, "a task may use the object of a section that was listed for it");
    rtrcu_task_unlist(&second_task);
    stay();
}

// As resume_and_list(), but the second task takes the section over by parking.  The thread's own section stays open.
void resume_and_park()
{
    wait_until_parked();
    rcu_read_lock();
    rtrcu_task_resume(&task);
    rtrcu_task_park(&second_task);
    use_object();
    rcu_read_unlock();
    sim::expect(held->value == 42, "a task may use the object of a section that it has taken along");
    rtrcu_task_resume(&second_task);
    rcu_read_unlock();
    stay();
}

// The second task takes over a section below a task that resumed without one.  Sections that the upper task opens
// afterwards are its own.
void take_from_beneath()
{
    rcu_read_lock();
    rtrcu_task_resume(&task);
    rtrcu_task_list(&second_task);
    lock_and_park();
    rtrcu_task_unlist(&second_task);
    stay();
}

// As take_from_beneath(), below a task whose section has ended on this thread.
void end_and_take_from_beneath()
{
    rcu_read_lock();
    rtrcu_task_park(&task);
    rcu_read_lock();
    rtrcu_task_resume(&task);
    rcu_read_unlock();
    rtrcu_task_list(&second_task);
    lock_and_park();
    rtrcu_task_unlist(&second_task);
    stay();
}

void ended_beneath_setup()
{
    begin(RTRCU_BLOCKED_LISTS_PERCPU, end_and_take_from_beneath, resume_and_stay);
}

void beneath_setup()
{
    begin(RTRCU_BLOCKED_LISTS_PERCPU, take_from_beneath, resume_and_stay);
}

void taken_setup()
{
    begin(RTRCU_BLOCKED_LISTS_PERCPU, park_and_stay, resume_and_list);
}

void taken_node_setup()
{
    begin(RTRCU_BLOCKED_LISTS_NODE, park_and_stay, resume_and_list);
}

void taken_park_setup()
{
    begin(RTRCU_BLOCKED_LISTS_PERCPU, park_and_stay, resume_and_park);
}

void taken_handler_setup()
{
    taken_park_setup();
    sim::signal(resumer_id, read_once);
}

void taken_anonymous_setup()
{
    begin_without_record(resume_and_list);
}

// A task is polled on another thread than the one that listed it: checks of debug builds query whether there is a
// listed task.
void list_and_stay()
{
    rcu_read_lock();
    held = rcu_dereference(shared);
    rtrcu_task_list(&task);
    rtrcu_store_release(&parked, true);
    stay();
}

void poll_and_unlist()
{
    wait_until_parked();
    for (int poll = 0; poll < 3; poll++)
        sim::expect(parked_anywhere(&rtrcu_domain.registry), "a task that is listed is seen, wherever it is moved");
    sim::expect(held->value == 42, "a listed task may use the object until it is unlisted");
    rtrcu_task_unlist(&task);
    stay();
}

void polled_setup()
{
    begin(RTRCU_BLOCKED_LISTS_PERCPU, list_and_stay, poll_and_unlist);
}

} // namespace

extern const sim::Scenario kTaskMove, kTaskMoveNode, kTaskSame, kTaskBoth, kTaskRead, kTaskAlternate, kTaskExit,
    kTaskNewcomer, kTaskKinds, kTaskFull, kTaskAnonymous, kTaskAgain, kTaskTaken, kTaskTakenNode, kTaskTakenPark,
    kTaskTakenAnonymous, kTaskBelow, kTaskBelowEnded, kTaskPolled, kTaskFreed, kTaskParkHandler, kTaskMoveHandler,
    kTaskNodeHandler, kTaskResumeHandler, kTaskTakenHandler;

const sim::Scenario kTaskPolled = {
    "task-polled", "a listed task is polled on another thread", polled_setup, expect_idle, check_invariants, 4000};

const sim::Scenario kTaskMove = {"task-move",      "a task parks on one thread and ends its section on another",
                                 move_setup,       expect_idle,
                                 check_invariants, 4000};
const sim::Scenario kTaskMoveNode = {"task-node",      "a task parks on the leaf's list and ends on another thread",
                                     move_node_setup,  expect_idle,
                                     check_invariants, 4000};
const sim::Scenario kTaskSame = {
    "task-same", "a task parks and resumes on one thread", same_setup, expect_idle, check_invariants, 4000};
const sim::Scenario kTaskBoth = {"task-both", "two threads park a task each", both_setup, expect_idle, check_invariants,
                                 4000};
const sim::Scenario kTaskRead = {
    "task-read", "a thread reads while its task is parked", read_setup, expect_idle, check_invariants, 4000};
const sim::Scenario kTaskAlternate = {
    "task-alternate", "two tasks alternate on a thread", two_setup, expect_idle, check_invariants, 4000};
const sim::Scenario kTaskAgain = {
    "task-again", "a second task parks once the first has ended", again_setup, expect_idle, check_invariants, 4000};
const sim::Scenario kTaskExit = {
    "task-exit", "a thread exits while its task is parked", exit_setup, expect_idle, check_invariants, 4000};
const sim::Scenario kTaskFreed = {
    "task-freed", "a task is freed after its section", freed_setup, expect_idle, check_invariants, 4000};
const sim::Scenario kTaskParkHandler = {"task-park-handler", "a handler reads while its thread parks",
                                        park_handler_setup,  expect_idle,
                                        check_invariants,    4000};
const sim::Scenario kTaskMoveHandler = {
    "task-move-handler", "a handler reads while its thread resumes and ends the section",
    move_handler_setup,  expect_idle,
    check_invariants,    4000};
const sim::Scenario kTaskNodeHandler = {
    "task-node-handler", "a handler reads while its thread resumes a task of the leaf's list",
    node_handler_setup,  expect_idle,
    check_invariants,    4000};
const sim::Scenario kTaskResumeHandler = {
    "task-resume-handler", "a handler reads while its thread resumes a second task",
    resume_handler_setup,  expect_idle,
    check_invariants,      4000};
const sim::Scenario kTaskTakenHandler = {
    "task-taken-handler", "a handler reads while a task takes a section over by parking",
    taken_handler_setup,  expect_idle,
    check_invariants,     4000};
const sim::Scenario kTaskNewcomer = {"task-newcomer",  "a task resumes on a thread that registers inside its section",
                                     newcomer_setup,   expect_idle,
                                     check_invariants, 4000};

const sim::Scenario kTaskKinds = {
    "task-kinds", "both kinds of grace period wait for a parked task", kinds_setup, nullptr, check_invariants, 8000};
const sim::Scenario kTaskFull = {
    "task-full", "a task parks and resumes under full fences", full_setup, expect_idle, check_invariants, 6000};
const sim::Scenario kTaskAnonymous = {"task-anonymous", "a task parks on a thread without a record",
                                      anonymous_setup,  expect_idle,
                                      check_invariants, 4000};

const sim::Scenario kTaskTaken = {"task-taken",     "a task takes over the section of a resumed task by listing it",
                                  taken_setup,      expect_idle,
                                  check_invariants, 4000};
const sim::Scenario kTaskTakenNode = {
    "task-taken-node", "the same with tasks on the leaf's list", taken_node_setup, expect_idle, check_invariants, 4000};
const sim::Scenario kTaskTakenPark = {"task-taken-park", "a task takes over the section of a resumed task by parking",
                                      taken_park_setup,  expect_idle,
                                      check_invariants,  4000};
const sim::Scenario kTaskTakenAnonymous = {
    "task-taken-anonymous", "a task takes over a section that began without a record",
    taken_anonymous_setup,  expect_idle,
    check_invariants,       4000};
const sim::Scenario kTaskBelow = {"task-below",     "a section below a task without a section is taken over",
                                  beneath_setup,    expect_idle,
                                  check_invariants, 4000};
const sim::Scenario kTaskBelowEnded = {
    "task-below-ended",  "a section below a task whose section has ended is taken over",
    ended_beneath_setup, expect_idle,
    check_invariants,    4000};

} // namespace scenarios

// SPDX-License-Identifier: MIT OR Apache-2.0
// Forks at any step of the other threads, and the state that the child finds.
#include "scenarios/common.h"

#include <rtrcu/task.h>

namespace scenarios
{

namespace
{

struct rcu_task task;
struct object *held;    // the object that the parked task continues to use
uint32_t parked, ended; // the task is parked; its section may be over
struct object *queued;  // queued by another thread
uint32_t was_queued;
bool forking;

void park_in_section()
{
    rcu_read_lock();
    held = rcu_dereference(shared);
    rtrcu_task_park(&task);
    rtrcu_store_release(&parked, 1);
    read_once();
}

void is_about_to_end()
{
    rtrcu_store_release(&ended, 1);
    rtrcu_task_resume(&task);
    rcu_read_unlock();
}

bool is_parked()
{
    return parked;
}

void end_elsewhere()
{
    sim::until(is_parked);
    (void)rtrcu_load_acquire(&parked);
    is_about_to_end();
}

void park_and_end()
{
    park_in_section();
    is_about_to_end();
}

// A task that was parked in the parent is parked in the child, whatever another thread was doing with it.
void go_on_in_the_child()
{
    struct object *old = replace_object();
    call_rcu(&old->head, free_callback);
    bool must_be_kept = rtrcu_load_acquire(&parked) && !rtrcu_load_acquire(&ended);
    // At the fork the task may have been on a list, but `parked` not yet set.
    bool is_kept = rtrcu_load_relaxed(&task.where) != PARKED_NOWHERE;
    sim::expect(is_kept || !must_be_kept, "the child has a task that was parked at the fork");
    if (is_kept) {
        rtrcu_task_resume(&task);
        sim::expect(held->value == 42, "a task that was parked at the fork may use the object in the child");
        rcu_read_unlock();
    }
    rcu_barrier();
    sim::expect(invoked >= 1, "callbacks that the child queues are invoked");
    if (rtrcu_load_acquire(&was_queued))
        sim::expect(sim::is_freed(queued), "a callback queued at the fork is invoked, by parent or child");
    free_object(shared);
    shared = nullptr;
}

void fork_here()
{
    bool inside = forking; // in a handler, inside its thread's own fork
    forking = true;
    sim::fork();
    forking = inside;
}

void fork_and_go_on()
{
    fork_here();
    go_on_in_the_child();
}

void begin_with_a_task()
{
    configure();
    shared = make_object();
    rtrcu_task_init(&task, "task");
    parked = ended = was_queued = 0;
    forking = false;
    held = queued = nullptr;
}

void begin(void (*parker)(), void (*ender)(), void (*updater)())
{
    begin_with_a_task();
    sim::as_thread(sim::thread("parker", parker), register_reader);
    if (ender)
        sim::as_thread(sim::thread("ender", ender), register_reader);
    sim::as_thread(sim::thread("forker", fork_and_go_on), register_reader);
    if (updater)
        sim::thread("updater", updater);
}

// Grace periods promote the task while its section ends on another thread.
void promoted_setup()
{
    begin(park_in_section, end_elsewhere, synchronize_rcu);
}

void parking_setup()
{
    begin(park_and_end, nullptr, synchronize_rcu_expedited);
}

// A thread queues a callback and waits for it in rcu_barrier().
void queue_and_wait()
{
    call_rcu(&queued->head, free_callback);
    rtrcu_store_release(&was_queued, 1);
    rcu_barrier();
}

void queued_setup()
{
    begin(park_in_section, nullptr, queue_and_wait);
    queued = make_object();
}

// Without a driver's thread, a thread that waits runs the callbacks, in the parent and in the child.
void aside_setup()
{
    begin(read_once, nullptr, queue_and_wait);
    use_driver(RTRCU_DRIVER_SCHED);
    queued = make_object();
}

// Make a callback of the calling thread ready; the thread runs it in place of a daemon.
void fill_for_daemons()
{
    register_reader();
    call_rcu(&queued->head, free_callback);
    (void)callback_collect(&rtrcu_domain.cb);
    rtrcu_synchronize();
}

void serve_once()
{
    (void)serve_dispatch(&rtrcu_domain.drive.serve);
}

// A forking thread waits for a running callback; the end of the callback wakes that thread.
void told_setup()
{
    configure();
    sim::no_timeouts();
    forking = false;
    queued = make_object();
    rtrcu_domain.config.first.policy = RTRCU_POLICY_INLINE;
    use_driver(RTRCU_DRIVER_SCHED);
    tally_raise(&rtrcu_domain.cb.barriers); // a waiting barrier, for which daemons run callbacks
    sim::as_thread(sim::thread("server", serve_once), fill_for_daemons);
    sim::thread("forker", fork_here);
}

// ---- a thread that gathers pointers in blocks, a second block included ----

constexpr uint32_t kRetired = 4;
uint32_t noted, called[kRetired];

void count_call(void *at)
{
    rtrcu_fetch_add(static_cast<uint32_t *>(at), 1);
}

void retire_all()
{
    for (uint32_t i = 0; i < kRetired; i++) {
        sim::expect(rcu_retire(&called[i], count_call) == 0, "the object is retired");
        rtrcu_store_release(&noted, i + 1);
    }
}

// Fork while another thread retires objects.  The child may lack the call of one function: the function had begun in a
// thread that the child does not have.  The record of one call of rcu_retire() in progress may be lost too.
void fork_beside_blocks()
{
    fork_here();
    uint32_t before = rtrcu_load_acquire(&noted), missing = 0;
    rcu_barrier();
    for (uint32_t i = 0; i < before; i++) {
        uint32_t calls = rtrcu_load_acquire(&called[i]);
        sim::expect(calls <= 1, "a retired function is called once");
        missing += calls == 0;
    }
    sim::expect(missing <= 1, "functions retired before the fork are called by parent or child");
    sim::expect(rtrcu_domain.cb.lost_at_fork.count <= 2, "only calls in progress are lost");
}

void blocks_setup()
{
    configure();
    noted = 0;
    for (uint32_t &calls : called)
        calls = 0;
    forking = false;
    sim::as_thread(sim::thread("owner", retire_all), register_reader);
    sim::as_thread(sim::thread("forker", fork_beside_blocks), register_reader);
}

// ---- a handler forks while its thread enters a section, or queues, and continues in the child ----

// Fork in the handler, unless it interrupts a call of the library: the child of such a fork may only exec.
void fork_in_call()
{
    if (rtrcu_self.calls != 0)
        return;
    fork_here();
}

// Like gp_idle_propose(), a fence and gp_idle_settle(), with no step of another thread in between.
void fall_asleep()
{
    register_reader();
    struct reader_leaf *leaf = rtrcu_self.record->leaf;
    rtrcu_self.record->outside_scans = 1;
    reader_lock(leaf);
    (void)reader_idle_propose(leaf, 1);
    reader_idle_settle(leaf, reader_bit(rtrcu_self.record));
    reader_unlock(leaf);
}

// A reader that is inside frees the object that it uses by a callback: the driver's grace period must wait for the
// reader.
void wake_and_replace()
{
    rcu_read_lock();
    held = rcu_dereference(shared);
    struct object *old = replace_object();
    call_rcu(&old->head, free_callback);
    for (int i = 0; i < 4; i++) {
        sim::step();
        sim::expect(held->value == 42,
                    "a reader that is inside is waited for, in the child of a handler that forked too");
    }
    rcu_read_unlock();
    rcu_barrier();
    sim::expect(invoked == 1, "a queued callback is invoked once");
}

void queue_and_wait_twice()
{
    for (int round = 1; round <= 2; round++) {
        struct object *old = replace_object();
        call_rcu(&old->head, free_callback);
        rcu_barrier();
        sim::expect(invoked == round, "a queued callback is invoked once, in the child of a handler that forked too");
    }
}

void begin_call(void (*body)(), void (*start)())
{
    configure();
    shared = make_object();
    forking = false;
    int id = sim::thread("forker", body);
    sim::as_thread(id, start);
    sim::signal(id, fork_in_call);
}

void waking_setup()
{
    begin_call(wake_and_replace, fall_asleep);
}

void calling_setup()
{
    begin_call(queue_and_wait_twice, register_reader);
}

void check_between_handlers()
{
    if (!forking)
        check_invariants();
}

} // namespace

extern const sim::Scenario kForkPromoted, kForkParking, kForkQueued, kForkWaiter, kForkWoken, kForkBlocks, kForkIdle,
    kForkCalling;

const sim::Scenario kForkPromoted = {
    "fork-promoted",        "a fork while a task is promoted and ends on another thread",
    promoted_setup,         nullptr,
    check_between_handlers, 12000};
const sim::Scenario kForkParking = {"fork-parking", "a fork while a task parks", parking_setup,
                                    nullptr,        check_between_handlers,      12000};
const sim::Scenario kForkQueued = {"fork-queued",          "a fork while a callback is collected and invoked",
                                   queued_setup,           nullptr,
                                   check_between_handlers, 12000};
const sim::Scenario kForkWaiter = {
    "fork-waiter", "a fork while a waiting thread runs the callbacks", aside_setup, nullptr, check_between_handlers,
    12000};

const sim::Scenario kForkWoken = {
    "fork-woken", "a fork waits for a running callback", told_setup, nullptr, check_between_handlers, 12000};

const sim::Scenario kForkBlocks = {
    "fork-blocks", "a fork while a thread retires objects", blocks_setup, nullptr, check_between_handlers, 12000};

const sim::Scenario kForkIdle = {"fork-idle",
                                 "a handler forks while its idle thread enters a section",
                                 waking_setup,
                                 expect_nothing_left,
                                 check_between_handlers,
                                 12000};
const sim::Scenario kForkCalling = {"fork-calling",         "a handler forks while its thread queues and waits",
                                    calling_setup,          expect_nothing_left,
                                    check_between_handlers, 12000};

} // namespace scenarios

// SPDX-License-Identifier: MIT OR Apache-2.0
// The kernel begins to refuse heavy fences while readers run.
#include "scenarios/common.h"

#include <rtrcu/task.h>

namespace scenarios
{

namespace
{

void read_three_times()
{
    read_once();
    read_once();
    read_once();
}

void lock_and_arm()
{
    rcu_read_lock();
    reader_arm_self();
}

void unlock_and_read()
{
    rcu_read_unlock();
    read_once();
}

void refuse_membarrier()
{
    sim::refuse_fences(true, false);
}

void refuse_both()
{
    sim::refuse_fences(true, true);
}

void begin()
{
    configure();
    shared = make_object();
    sim::as_thread(sim::thread("reader", read_three_times), register_reader);
    sim::thread("updater", replace_twice);
}

void refused_setup()
{
    begin();
    sim::event("membarrier is refused from now on", refuse_membarrier);
}

// Neither membarrier() nor the visit works, so only the readers' acknowledgments can confirm full fences.
void refused_both_setup()
{
    begin();
    sim::event("membarrier and the visit to every CPU are refused from now on", refuse_both);
}

// A thread registers, and reads, after membarrier() may have been refused.
void newcomer_setup()
{
    begin();
    sim::thread("newcomer", read_once);
    sim::event("membarrier is refused from now on", refuse_membarrier);
}

// membarrier() is refused from the start.  The reader's first unlock takes the slow path, in which it may have read the
// old mode.
void refused_armed_setup()
{
    configure();
    shared = make_object();
    sim::refuse_fences(true, false);
    int reader = sim::thread("reader", unlock_and_read);
    sim::as_thread(reader, register_reader);
    sim::as_thread(reader, lock_and_arm);
    sim::thread("updater", replace_twice);
}

// Start with full fences.
void full_setup()
{
    reader_fences_start_full(&rtrcu_domain.registry);
    begin();
}

// ---- a cookie under full fences: no heavy fence makes the unlinking by its updater visible ----

void cookie_updater()
{
    struct object *old = replace_object();
    uint64_t cookie = get_state_synchronize_rcu();
    cond_synchronize_rcu(cookie);
    free_object(old);
    rtrcu_fetch_add(&updaters, (uint32_t)-1);
}

void full_cookie_setup()
{
    configure();
    reader_fences_start_full(&rtrcu_domain.registry);
    shared = make_object();
    sim::as_thread(sim::thread("reader", read_and_stay), register_reader);
    sim::thread("updater", cookie_updater);
    sim::thread("other", rtrcu_synchronize);
}

// ---- a reader without a record under full fences ----

void full_anonymous_setup()
{
    configure();
    reader_fences_start_full(&rtrcu_domain.registry);
    shared = make_object();
    sim::may_fail(sim::kExitHooks, 1);
    sim::thread("newcomer", read_and_stay);
    sim::thread("updater", replace_and_wait);
}

// ---- full fences are no longer needed: a grace period that relied on them scans again ----

void restore_fences()
{
    reader_fences_restore(&rtrcu_domain.registry);
}

void read_on_and_on()
{
    for (int i = 0; i < 3; i++)
        read_once();
    stay();
}

void wait_three_times()
{
    for (int i = 0; i < 3; i++) {
        struct object *old = replace_object();
        synchronize_rcu();
        free_object(old);
    }
    rtrcu_fetch_add(&updaters, (uint32_t)-1);
}

void restored_setup()
{
    // Threads become idle after one scan.  Skipping them in scans relies on the same heavy fence.
    configure()->idle_scans = 1;
    reader_fences_start_full(&rtrcu_domain.registry);
    shared = make_object();
    sim::as_thread(sim::thread("reader", read_on_and_on), register_reader);
    sim::thread("updater", wait_three_times);
    sim::event("membarrier may be called again", restore_fences);
}

// ---- a task parks while the fences change: its thread takes a slow path ----

struct rcu_task task;
bool parked;

bool is_parked()
{
    return parked;
}

void arm_and_lock()
{
    register_reader();
    reader_arm_self();
    rcu_read_lock();
}

void park_and_read()
{
    rtrcu_task_park(&task);
    rtrcu_exchange(&parked, true);
    read_once();
    stay();
}

// Switches like rtrcu_configure().
void switch_end_and_wait()
{
    reader_fences_switch(&rtrcu_domain.registry);
    (void)turn_fence(&rtrcu_domain.drive.turn);
    sim::until(is_parked);
    (void)rtrcu_load_acquire(&parked);
    rtrcu_task_resume(&task);
    rcu_read_unlock();
    replace_and_wait();
}

void switch_park_setup()
{
    configure();
    shared = make_object();
    parked = false;
    rtrcu_task_init(&task, "task");
    sim::as_thread(sim::thread("parker", park_and_read), arm_and_lock);
    sim::thread("updater", switch_end_and_wait);
}

// ---- both kinds of grace period change the fences at the same time: one sets a flag that the other has not fenced
// ----

void expedited_updater()
{
    struct object *old = rcu_xchg_pointer(&shared, make_object());
    synchronize_rcu_expedited();
    free_object(old);
}

void normal_updater()
{
    struct object *old = rcu_xchg_pointer(&shared, make_object());
    synchronize_rcu();
    free_object(old);
    old = rcu_xchg_pointer(&shared, make_object());
    synchronize_rcu();
    free_object(old);
}

void refused_kinds_setup()
{
    configure();
    shared = make_object();
    sim::refuse_fences(true, false);
    sim::as_thread(sim::thread("reader", read_three_times), register_reader);
    sim::thread("normal", normal_updater);
    sim::thread("expedited", expedited_updater);
}

} // namespace

extern const sim::Scenario kRefused, kRefusedBoth, kRefusedNewcomer, kRefusedArmed, kFullFences, kSwitchPark,
    kRefusedKinds, kFullCookie, kFullAnonymous, kFullRestored;

const sim::Scenario kRefused = {"refused",        "membarrier() is refused from any step on, and the visit works",
                                refused_setup,    expect_idle,
                                check_invariants, 6000};
const sim::Scenario kRefusedBoth = {"refused-both",     "only acknowledgments of readers confirm full fences",
                                    refused_both_setup, expect_idle,
                                    check_invariants,   6000};
const sim::Scenario kRefusedNewcomer = {"refused-new",    "membarrier() is refused while a thread registers",
                                        newcomer_setup,   expect_idle,
                                        check_invariants, 6000};
const sim::Scenario kRefusedArmed = {"refused-armed",     "fences are refused while a reader is in a slow path",
                                     refused_armed_setup, expect_idle,
                                     check_invariants,    6000};
const sim::Scenario kFullFences = {
    "full-fences", "full fences from the start", full_setup, expect_idle, check_invariants, 6000};

const sim::Scenario kSwitchPark = {"switch-park",     "a task parks while the fences are switched",
                                   switch_park_setup, expect_idle,
                                   check_invariants,  6000};
const sim::Scenario kRefusedKinds = {"refused-kinds",     "both kinds of grace period find fences refused",
                                     refused_kinds_setup, nullptr,
                                     check_invariants,    8000};

const sim::Scenario kFullCookie = {
    "full-cookie", "a cookie under full fences", full_cookie_setup, expect_idle, check_invariants, 6000};

const sim::Scenario kFullRestored = {
    "full-restored", "full fences are no longer needed", restored_setup, expect_idle, check_invariants, 6000};
const sim::Scenario kFullAnonymous = {"full-anonymous",     "a reader without a record under full fences",
                                      full_anonymous_setup, expect_idle,
                                      check_invariants,     4000};

} // namespace scenarios

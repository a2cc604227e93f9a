// SPDX-License-Identifier: MIT OR Apache-2.0
// The kernel begins to refuse heavy fences while readers run.
#include "scenarios/common.h"

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

void two_periods()
{
    replace_and_wait();
    replace_and_wait();
}

void begin()
{
    configure();
    shared = make_object();
    sim::as_thread(sim::thread("reader", read_three_times), register_reader);
    sim::thread("updater", two_periods);
}

void refused_setup()
{
    begin();
    sim::event("membarrier is refused from now on", refuse_membarrier);
}

// Nothing but the readers' own acknowledgement is left.
void refused_both_setup()
{
    begin();
    sim::event("membarrier and the visit to every CPU are refused from now on", refuse_both);
}

// Readers that only nest never leave: then grace periods stand still until they do.
void newcomer_setup()
{
    begin();
    sim::thread("newcomer", read_once);
    sim::event("membarrier is refused from now on", refuse_membarrier);
}

// The reader's first unlock takes the slow path, and may have read the old mode.
void refused_armed_setup()
{
    configure();
    shared = make_object();
    sim::refuse_fences(true, false);
    int reader = sim::thread("reader", unlock_and_read);
    sim::as_thread(reader, register_reader);
    sim::as_thread(reader, lock_and_arm);
    sim::thread("updater", two_periods);
}

// Full fences from the start.
void full_setup()
{
    reader_fences_start_full(&rtrcu_domain.registry);
    begin();
}

} // namespace

extern const sim::Scenario kRefused, kRefusedBoth, kRefusedNewcomer, kRefusedArmed, kFullFences;

const sim::Scenario kRefused = {
    "refused", "membarrier is refused half-way, the visit works", refused_setup, expect_idle, check_invariants, 6000};
const sim::Scenario kRefusedBoth = {
    "refused-both", "only acknowledgements are left", refused_both_setup, expect_idle, check_invariants, 6000};
const sim::Scenario kRefusedNewcomer = {
    "refused-new", "and a thread registers meanwhile", newcomer_setup, expect_idle, check_invariants, 6000};
const sim::Scenario kRefusedArmed = {"refused-armed",     "a slow path is under way when fences are refused",
                                     refused_armed_setup, expect_idle,
                                     check_invariants,    6000};
const sim::Scenario kFullFences = {
    "full-fences", "full fences from the start", full_setup, expect_idle, check_invariants, 6000};

} // namespace scenarios

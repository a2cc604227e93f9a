// SPDX-License-Identifier: MIT OR Apache-2.0
// Boosting: a booster sleeps on a word that it locks on the reader's behalf.
#include "scenarios/common.h"

namespace scenarios
{

namespace
{

const struct reader_record *boosted; // the reader's record, once it is inside

// Start a scenario whose workers boost readers.  Returns the configuration.
struct rtrcu_config *begin(uint32_t early_timeouts)
{
    struct rtrcu_config *config = configure();
    shared = make_object();
    config->kthread_prio = 50;
    config->boost = 1;
    sim::early_timeouts(early_timeouts); // late timeouts too: the advancing thread retries at its tick
    return config;
}

bool is_boosted()
{
    return boosted->boost != 0 || updaters == 0;
}

bool is_let_go()
{
    return !boosted || (boosted->boost == 0 && turn_slot(boosted)->booster == 0);
}

// Stay inside until a booster takes the word, if a grace period waits for this reader.
void lock_until_boosted()
{
    rcu_read_lock();
    use_object();
    boosted = reader_self();
    sim::until(is_boosted);
}

// Expect that no boost lasted as long as a slice: it would, if a booster slept on the word of a reader that has left.
void expect_no_timeout()
{
    sim::expect(rtrcu_load_relaxed(&rtrcu_domain.drive.turn.boost_ns_max) < 1000000,
                "no booster sleeps until the end of its slice");
}

void expect_let_go()
{
    sim::until(is_let_go);
    expect_no_timeout();
}

void read_and_give_back()
{
    lock_until_boosted();
    rcu_read_unlock();
    expect_let_go();
    stay();
}

void boost_setup()
{
    begin(0);
    sim::as_thread(sim::thread("reader", read_and_give_back), register_reader);
    sim::thread("updater", exchange_and_expedite);
}

void expedite_and_see()
{
    exchange_and_expedite();
    expect_let_go();
}

void exit_setup()
{
    begin(0);
    sim::as_thread(sim::thread("reader", lock_until_boosted), register_reader);
    sim::thread("updater", expedite_and_see);
}

// Returns whether the worker and the nudger exist, without which a real-time caller boosts no reader itself.
bool helpers_are_there()
{
    const struct domain_drive *drive = &rtrcu_domain.drive;
    return rtrcu_load_acquire(&drive->work.worker[WORK_WORKER_EXPEDITED].thread_id) != 0 &&
           rtrcu_load_acquire(&drive->work.worker[WORK_WORKER_NUDGE].thread_id) != 0;
}

// A reader whose flag no grace period has set when the caller boosts it.  Each update of the reader's word may lose the
// booster's flag.
void nest_and_give_back()
{
    sim::until(helpers_are_there);
    lock_until_boosted();
    rcu_read_lock();
    rcu_read_unlock();
    rcu_read_unlock();
    expect_let_go();
    stay();
}

bool reader_is_inside()
{
    return boosted != nullptr;
}

void urgent_updater()
{
    plat_sched_set(60, 0);
    (void)start_poll_synchronize_rcu_expedited();
    sim::until(helpers_are_there);
    sim::until(reader_is_inside);
    exchange_and_expedite();
}

// As nest_and_give_back(), but the reader does not wait for the booster.
void nest_and_leave()
{
    sim::until(helpers_are_there);
    rcu_read_lock();
    use_object();
    boosted = reader_self();
    rcu_read_lock();
    rcu_read_unlock();
    rcu_read_unlock();
    stay();
}

void urgent_updater_sees()
{
    urgent_updater();
    expect_let_go();
}

void leaving_setup()
{
    begin(0);
    sim::as_thread(sim::thread("reader", nest_and_leave), register_reader);
    sim::thread("updater", urgent_updater_sees);
}

void by_caller_setup()
{
    begin(0);
    sim::as_thread(sim::thread("reader", nest_and_give_back), register_reader);
    sim::thread("updater", urgent_updater);
}

// The worker may still boost the first section when the caller boosts the second.
void read_twice()
{
    lock_until_boosted();
    rcu_read_unlock();
    rcu_read_lock();
    sim::until(is_boosted);
    rcu_read_unlock();
    expect_let_go();
    stay();
}

void expedite_twice()
{
    synchronize_rcu_expedited();
    plat_sched_set(60, 0);
    sim::until(helpers_are_there);
    exchange_and_expedite();
}

void boost_twice_setup()
{
    begin(0);
    sim::as_thread(sim::thread("reader", read_twice), register_reader);
    sim::thread("updater", expedite_twice);
}

// A reader that stays inside until its share of boosting is used up.  The grace period waits for it.
bool has_waited;

bool share_is_used()
{
    return rtrcu_domain.drive.turn.boost_given_up.count != 0 || has_waited;
}

void wait_and_say()
{
    exchange_and_expedite();
    rtrcu_store_release(&has_waited, true);
}

void read_past_share()
{
    rcu_read_lock();
    use_object();
    sim::until(share_is_used);
    use_object();
    rcu_read_unlock();
}

void share_used_setup()
{
    begin(12); // the booster pauses while the reader runs
    has_waited = false;
    sim::as_thread(sim::thread("reader", read_past_share), register_reader);
    sim::thread("updater", wait_and_say);
}

} // namespace

extern const sim::Scenario kBoost, kBoostExit, kBoostByCaller, kBoostLeaving, kBoostTwice, kBoostLimit;

const sim::Scenario kBoost = {
    "boost", "a reader is boosted while it leaves", boost_setup, expect_no_timeout, check_invariants, 6000};
const sim::Scenario kBoostExit = {
    "boost-exit", "the thread of a boosted reader exits", exit_setup, expect_no_timeout, check_invariants, 6000};
const sim::Scenario kBoostByCaller = {"boost-by-caller", "a real-time caller boosts readers itself",
                                      by_caller_setup,   expect_no_timeout,
                                      check_invariants,  8000};
const sim::Scenario kBoostLeaving = {
    "boost-leaving", "a caller boosts a reader that leaves", leaving_setup, expect_no_timeout, check_invariants, 8000};
const sim::Scenario kBoostTwice = {"boost-twice",     "a worker boosts one section, a caller the next",
                                   boost_twice_setup, expect_no_timeout,
                                   check_invariants,  8000};
const sim::Scenario kBoostLimit = {
    "boost-limit", "a reader stays inside beyond its boost limit", share_used_setup, nullptr, check_invariants, 8000};

} // namespace scenarios

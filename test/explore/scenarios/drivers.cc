// SPDX-License-Identifier: MIT OR Apache-2.0
// The other drivers, each with one callback and a reader.
#include "scenarios/common.h"

namespace scenarios
{

namespace
{

bool is_invoked()
{
    return invoked == 1;
}

void call_and_wait()
{
    call_rcu(&replace_object()->head, free_callback);
    sim::until(is_invoked);
}

void register_and_start()
{
    register_reader();
    (void)drive_start(&rtrcu_domain.drive);
}

struct rtrcu_config *begin(int32_t driver)
{
    struct rtrcu_config *config = configure();
    config->driver = driver;
    rtrcu_domain.drive.driver = drive_driver_of(driver);
    shared = make_object();
    return config;
}

void ltimer_setup()
{
    begin(RTRCU_DRIVER_LTIMER);
    sim::as_thread(sim::thread("reader", read_once), register_reader);
    sim::as_thread(sim::thread("updater", call_and_wait), register_and_start);
}

void poll_setup()
{
    begin(RTRCU_DRIVER_POLL);
    sim::as_thread(sim::thread("reader", read_once), register_reader);
    sim::as_thread(sim::thread("updater", call_and_wait), register_and_start);
}

// ---- sched: the program's own quiescent states do the work ----

void work_until_invoked()
{
    call_rcu(&replace_object()->head, free_callback);
    for (int i = 0; i < 20 && invoked == 0; i++) {
        rcu_quiescent_state();
        sim::step();
    }
    rcu_thread_offline();
    rcu_barrier();
    sim::expect(invoked == 1, "the callback has run once");
}

void sched_setup()
{
    begin(RTRCU_DRIVER_SCHED)->policy = RTRCU_POLICY_INLINE;
    sim::as_thread(sim::thread("owner", work_until_invoked), register_qsbr);
    sim::as_thread(sim::thread("reader", read_once), register_reader);
}

// Two threads share the work, and one of them leaves.
void work_and_leave()
{
    use_object();
    rcu_quiescent_state();
    rcu_thread_offline();
}

void sched_two_setup()
{
    begin(RTRCU_DRIVER_SCHED)->policy = RTRCU_POLICY_INLINE;
    sim::as_thread(sim::thread("owner", work_until_invoked), register_qsbr);
    sim::as_thread(sim::thread("other", work_and_leave), register_qsbr);
}

} // namespace

extern const sim::Scenario kLtimer, kPollDriver, kSched, kSchedTwo;

const sim::Scenario kLtimer = {
    "ltimer", "driver ltimer: one callback and a reader", ltimer_setup, nullptr, check_invariants, 8000};
const sim::Scenario kPollDriver = {
    "poll-driver", "driver poll: one callback and a reader", poll_setup, nullptr, check_invariants, 20000};
const sim::Scenario kSched = {
    "sched", "driver sched: quiescent states do the work", sched_setup, nullptr, check_invariants, 10000};
const sim::Scenario kSchedTwo = {
    "sched-two", "driver sched: two threads, one leaves", sched_two_setup, nullptr, check_invariants, 10000};

} // namespace scenarios

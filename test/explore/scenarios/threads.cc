// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads that come, go, and lie in different leaves, while a grace period looks at them.
#include "scenarios/common.h"

namespace scenarios
{

namespace
{

void begin()
{
    configure();
    shared = make_object();
    sim::no_timeouts();
}

// ---- registration against the scan ----

void register_setup()
{
    begin();
    sim::thread("newcomer", read_once);
    sim::thread("updater", replace_and_wait);
}

// Who takes a cookie and frees, who passes a grace period since nobody reads, and one who comes.
void cookie_updater()
{
    struct object *old = replace_object();
    uint64_t cookie = get_state_synchronize_rcu();
    cond_synchronize_rcu(cookie);
    free_object(old);
}

void alone_cookie_setup()
{
    begin();
    sim::thread("newcomer", read_once);
    sim::thread("updater", cookie_updater);
    sim::thread("other", rtrcu_synchronize);
}

// The second finds that the first has a reason to look at their leaf.
void register_two_setup()
{
    begin();
    sim::thread("first", read_once);
    sim::thread("second", read_once);
    sim::thread("updater", replace_and_wait);
}

// A handler may come in the middle of the registration, and read.
void register_handler_setup()
{
    begin();
    sim::signal(sim::thread("newcomer", read_once), read_once);
    sim::thread("updater", replace_and_wait);
}

// ---- exit against the scan: the word goes away with the thread ----

void leaver()
{
    read_once();
}

void two_periods()
{
    replace_and_wait();
    replace_and_wait();
}

void exit_setup()
{
    begin();
    sim::as_thread(sim::thread("leaver", leaver), register_reader);
    sim::thread("updater", two_periods);
}

// One leaves, another takes its slot.
void reuse_setup()
{
    begin();
    sim::as_thread(sim::thread("leaver", leaver), register_reader);
    sim::thread("newcomer", read_once);
    sim::thread("updater", replace_and_wait);
}

// A thread that leaves before its exit, and comes back.
void unregister_twice()
{
    read_once();
    rcu_unregister_thread();
    read_once();
}

void return_setup()
{
    begin();
    sim::as_thread(sim::thread("returner", unregister_twice), register_reader);
    sim::thread("updater", replace_and_wait);
}

// ---- two leaves below one node: reports and carries ----

void tree_setup()
{
    begin();
    sim::as_thread(sim::thread("reader1", read_and_stay), register_reader);
    sim::as_thread(sim::thread("reader2", read_and_stay), register_in_second_leaf);
    sim::thread("updater", replace_and_wait);
}

// A late carry of the first grace period meets the second one.
void tree_late_setup()
{
    begin();
    updaters = 2;
    sim::early_timeouts(2);
    sim::as_thread(sim::thread("reader1", read_and_stay), register_reader);
    sim::as_thread(sim::thread("reader2", read_and_stay), register_reader);
    sim::as_thread(sim::thread("other leaf", stay), register_in_second_leaf);
    sim::thread("updater", two_periods);
}

// ---- no record is to be had at first: the section begins without one, and a nested one registers ----

void nested_newcomer()
{
    rcu_read_lock();
    use_object();
    rcu_read_lock();
    use_object();
    rcu_read_unlock();
    use_object();
    rcu_read_unlock();
    stay();
}

void anonymous_setup()
{
    begin();
    sim::may_fail(sim::kExitHooks, 1);
    sim::thread("newcomer", nested_newcomer);
    sim::thread("updater", replace_and_wait);
}

// A handler reads while its thread begins or ends a section without a record.
void anonymous_handler_setup()
{
    begin();
    sim::may_fail(sim::kExitHooks, 4);
    sim::signal(sim::thread("newcomer", read_once), read_once);
    sim::thread("updater", replace_and_wait);
}

} // namespace

extern const sim::Scenario kRegister, kRegisterHandler, kExit, kReuse, kReturn, kTree, kTreeLate, kAnonymous,
    kRegisterTwo, kAloneCookie, kAnonymousHandler;

const sim::Scenario kRegister = {
    "register", "a thread registers while a scan looks for it", register_setup, expect_idle, check_invariants, 2000};
const sim::Scenario kRegisterHandler = {"register-signal",      "and a signal handler reads in the middle of it",
                                        register_handler_setup, expect_idle,
                                        check_invariants,       2000};
const sim::Scenario kExit = {
    "exit", "a thread ends while scans look at its word", exit_setup, expect_idle, check_invariants, 3000};
const sim::Scenario kReuse = {
    "reuse", "a thread takes the slot of one that ends", reuse_setup, expect_idle, check_invariants, 3000};
const sim::Scenario kReturn = {
    "return", "a thread unregisters, and reads again", return_setup, expect_idle, check_invariants, 3000};
const sim::Scenario kTree = {"tree", "reports and carries of two leaves", tree_setup, expect_idle, check_invariants,
                             3000};

const sim::Scenario kTreeLate = {
    "tree-late", "a late carry of an old grace period", tree_late_setup, expect_idle, check_invariants, 4000};
const sim::Scenario kAnonymous = {"anonymous",      "a section begins without a record, and a nested one registers",
                                  anonymous_setup,  expect_idle,
                                  check_invariants, 3000};
const sim::Scenario kAnonymousHandler = {"anonymous-signal",      "and a signal handler reads in the middle of it",
                                         anonymous_handler_setup, expect_idle,
                                         check_invariants,        3000};

const sim::Scenario kAloneCookie = {"alone-cookie",     "a cookie beside a grace period that nobody is in the way of",
                                    alone_cookie_setup, expect_idle,
                                    check_invariants,   3000};
const sim::Scenario kRegisterTwo = {"register-two",     "two threads register while a grace period asks for anybody",
                                    register_two_setup, expect_idle,
                                    check_invariants,   3000};

} // namespace scenarios

// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads that register and exit, in different leaves, while a grace period scans them.
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

// Three threads: an updater takes a cookie, waits for it and frees; an updater's grace period completes because no
// thread reads; a thread registers.
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

// Two threads register in one leaf: the second finds that the first has already marked the leaf for scans.
void register_two_setup()
{
    begin();
    sim::thread("first", read_once);
    sim::thread("second", read_once);
    sim::thread("updater", replace_and_wait);
}

// A handler may run in the middle of the registration, and read.
void register_handler_setup()
{
    begin();
    sim::signal(sim::thread("newcomer", read_once), read_once);
    sim::thread("updater", replace_and_wait);
}

// ---- exit against the scan: the word disappears with the thread ----

void leaver()
{
    read_once();
}

void exit_setup()
{
    begin();
    sim::as_thread(sim::thread("leaver", leaver), register_reader);
    sim::thread("updater", replace_twice);
}

// One thread exits, another takes its slot.
void reuse_setup()
{
    begin();
    sim::as_thread(sim::thread("leaver", leaver), register_reader);
    sim::thread("newcomer", read_once);
    sim::thread("updater", replace_and_wait);
}

// A thread unregisters before its exit, and registers again.
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
    sim::thread("updater", replace_twice);
}

// ---- a section begins while its thread cannot get a record, and a nested section registers the thread ----

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

// ---- a grace period does not wait for a reader without a record that follows an earlier one ----

uint32_t inside[2], ended;

bool first_is_inside()
{
    return rtrcu_load_acquire(&inside[0]);
}

bool second_is_inside()
{
    return rtrcu_load_acquire(&inside[1]);
}

bool updater_is_asleep()
{
    return tally_acquire(&rtrcu_domain.drive.turn.gp_state[GP_NORMAL].sleeping);
}

bool has_ended()
{
    return rtrcu_load_acquire(&ended);
}

void first_of_two()
{
    rcu_read_lock();
    rtrcu_store_release(&inside[0], 1);
    sim::until(second_is_inside);
    use_object();
    rcu_read_unlock();
}

void second_of_two()
{
    sim::until(updater_is_asleep);
    rcu_read_lock();
    rtrcu_store_release(&inside[1], 1);
    use_object();
    sim::until(has_ended);
    rcu_read_unlock();
}

void replace_beside_followers()
{
    sim::until(first_is_inside);
    replace_and_wait();
    rtrcu_store_release(&ended, 1);
}

void lose_the_record()
{
    reader_self_set(READER_STATE_EXITED);
}

void followers_setup()
{
    begin();
    inside[0] = inside[1] = ended = 0;
    sim::as_thread(sim::thread("first", first_of_two), lose_the_record);
    sim::as_thread(sim::thread("second", second_of_two), lose_the_record);
    sim::thread("updater", replace_beside_followers);
}

// A few short sections without a record, and both kinds of grace period.
void read_thrice()
{
    for (int i = 0; i < 3; i++)
        read_once();
}

void two_expedited()
{
    synchronize_rcu_expedited();
    synchronize_rcu_expedited();
}

void turns_setup()
{
    configure();
    shared = make_object();
    sim::as_thread(sim::thread("first", read_thrice), lose_the_record);
    sim::as_thread(sim::thread("second", read_thrice), lose_the_record);
    sim::thread("updater", replace_twice);
    sim::thread("expedited", two_expedited);
}

// Later readers leave a group empty twice, while one of the first stays.
bool second_has_left()
{
    return rtrcu_load_acquire(&ended);
}

bool expedited_is_asleep()
{
    return tally_acquire(&rtrcu_domain.drive.turn.gp_state[GP_EXPEDITED].sleeping);
}

void first_who_stays()
{
    rcu_read_lock();
    struct object *object = rcu_dereference(shared);
    rtrcu_store_release(&inside[0], 1);
    sim::until(second_has_left);
    sim::step();
    sim::expect(object->value == 42, "the object that was found is not freed");
    rcu_read_unlock();
}

void second_who_leaves()
{
    sim::until(updater_is_asleep);
    rcu_read_lock();
    rtrcu_store_release(&inside[1], 1);
    sim::until(expedited_is_asleep);
    rcu_read_unlock();
    rtrcu_store_release(&ended, 1);
}

void replace_beside_first()
{
    sim::until(first_is_inside);
    replace_and_wait();
}

void expedite_beside_second()
{
    sim::until(second_is_inside);
    synchronize_rcu_expedited();
}

void stays_setup()
{
    configure();
    shared = make_object();
    inside[0] = inside[1] = ended = 0;
    sim::as_thread(sim::thread("first", first_who_stays), lose_the_record);
    sim::as_thread(sim::thread("second", second_who_leaves), lose_the_record);
    sim::thread("updater", replace_beside_first);
    sim::thread("expedited", expedite_beside_second);
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

extern const sim::Scenario kRegister, kRegisterHandler, kExit, kReuse, kRegisterAgain, kTree, kTreeLate, kAnonymous,
    kRegisterTwo, kAloneCookie, kAnonymousHandler, kAnonymousSuccessive, kAnonymousPhases, kAnonymousStays;

const sim::Scenario kAnonymousSuccessive = {"anonymous-successive", "successive readers without a record",
                                            followers_setup,        expect_idle,
                                            check_invariants,       6000};
const sim::Scenario kAnonymousStays = {
    "anonymous-stays", "a reader without a record stays while others enter and leave",
    stays_setup,       nullptr,
    check_invariants,  8000};
const sim::Scenario kAnonymousPhases = {"anonymous-phases", "readers without a record, and both kinds of grace period",
                                        turns_setup,        nullptr,
                                        check_invariants,   8000};

const sim::Scenario kRegister = {
    "register", "a thread registers during a scan", register_setup, expect_idle, check_invariants, 2000};
const sim::Scenario kRegisterHandler = {"register-signal",      "a signal handler reads during a registration",
                                        register_handler_setup, expect_idle,
                                        check_invariants,       2000};
const sim::Scenario kExit = {
    "exit", "a thread exits while scans read its word", exit_setup, expect_idle, check_invariants, 3000};
const sim::Scenario kReuse = {
    "reuse", "a thread takes the slot of a thread that exits", reuse_setup, expect_idle, check_invariants, 3000};
const sim::Scenario kRegisterAgain = {
    "register-again", "a thread unregisters, and registers again", return_setup, expect_idle, check_invariants, 3000};
const sim::Scenario kTree = {"tree", "reports and carries of two leaves", tree_setup, expect_idle, check_invariants,
                             3000};

const sim::Scenario kTreeLate = {
    "tree-late", "a late carry of an ended grace period", tree_late_setup, expect_idle, check_invariants, 4000};
const sim::Scenario kAnonymous = {"anonymous",      "a section begins without a record, and a nested one registers",
                                  anonymous_setup,  expect_idle,
                                  check_invariants, 3000};
const sim::Scenario kAnonymousHandler = {
    "anonymous-signal",      "a signal handler reads during a section without a record",
    anonymous_handler_setup, expect_idle,
    check_invariants,        3000};

const sim::Scenario kAloneCookie = {"alone-cookie",     "a cookie is taken while a grace period completes immediately",
                                    alone_cookie_setup, expect_idle,
                                    check_invariants,   3000};
const sim::Scenario kRegisterTwo = {"register-two",     "two threads register while a scan looks for threads",
                                    register_two_setup, expect_idle,
                                    check_invariants,   3000};

} // namespace scenarios

// SPDX-License-Identifier: MIT OR Apache-2.0
// Callbacks from end to end: queue, driver, daemon, barrier.
#include <stdlib.h>

#include "scenarios/common.h"

namespace scenarios
{

namespace
{

struct object *queued[3];

void begin()
{
    configure();
    shared = make_object();
}

bool one_invoked()
{
    return invoked == 1;
}

bool two_invoked()
{
    return invoked == 2;
}

bool three_invoked()
{
    return invoked == 3;
}

// ---- one callback, a reader, the driver and its daemon ----

void call_one()
{
    call_rcu(&replace_object()->head, free_callback);
    sim::until(one_invoked);
}

void call_setup()
{
    begin();
    sim::no_timeouts();
    sim::as_thread(sim::thread("reader", read_once), register_reader);
    sim::as_thread(sim::thread("updater", call_one), register_and_start_driver);
}

// ---- two threads of one leaf queue a callback each; each may rely on the leaf's mark that the other has set ----

void call_from_first()
{
    call_rcu_hurry(&queued[0]->head, free_callback);
    sim::until(two_invoked);
}

void call_from_second()
{
    call_rcu_hurry(&queued[1]->head, free_callback);
    sim::until(two_invoked);
}

void call_two_setup()
{
    begin();
    sim::no_timeouts();
    queued[0] = make_object();
    queued[1] = make_object();
    sim::as_thread(sim::thread("first", call_from_first), register_and_start_driver);
    sim::as_thread(sim::thread("second", call_from_second), register_reader);
}

// ---- a signal handler queues too, possibly between exchange and link ----

void call_two()
{
    call_rcu(&queued[0]->head, free_callback);
    call_rcu(&queued[1]->head, free_callback);
    sim::until(three_invoked);
}

void handler_call()
{
    call_rcu(&queued[2]->head, free_callback);
}

void signal_setup()
{
    begin();
    for (struct object *&object : queued)
        object = make_object();
    int caller = sim::thread("caller", call_two);
    sim::as_thread(caller, register_reader);
    sim::signal(caller, handler_call);
}

// ---- the thread exits, and its callbacks remain ----

void call_and_leave()
{
    call_rcu(&queued[0]->head, free_callback);
    call_rcu(&queued[1]->head, free_callback);
}

void wait_for_two()
{
    sim::until(two_invoked);
}

void leave_setup()
{
    begin();
    queued[0] = make_object();
    queued[1] = make_object();
    sim::as_thread(sim::thread("caller", call_and_leave), register_reader);
    sim::thread("watcher", wait_for_two);
}

// ---- rcu_barrier() against a callback that queues itself again ----

uint32_t rounds;
bool has_run; // written only in the first round

void requeue(struct rcu_head *head)
{
    if (rounds++ == 0)
        has_run = true;
    if (rounds < 6)
        call_rcu(head, requeue);
}

void call_and_barrier()
{
    call_rcu(&queued[0]->head, requeue);
    call_rcu(&queued[1]->head, free_callback);
    rcu_barrier();
    sim::expect(has_run && invoked == 1, "rcu_barrier() returns after every callback queued before it");
}

void barrier_setup()
{
    begin();
    rounds = 0;
    has_run = false;
    queued[0] = make_object();
    queued[1] = make_object();
    sim::as_thread(sim::thread("caller", call_and_barrier), register_reader);
}

// ---- the barrier of one thread waits for the callback of another ----

bool has_queued;

void call_plain()
{
    call_rcu(&queued[0]->head, free_callback);
    rtrcu_store_release(&has_queued, true);
}

void barrier_of_other()
{
    bool expected = rtrcu_load_acquire(&has_queued);
    rcu_barrier();
    sim::expect(!expected || invoked == 1, "rcu_barrier() waits for callbacks that other threads have queued");
}

void barrier_two_setup()
{
    begin();
    has_queued = false;
    queued[0] = make_object();
    sim::as_thread(sim::thread("caller", call_plain), register_reader);
    sim::thread("barrier", barrier_of_other);
}

uint64_t queued_at[2]; // cookies

// ---- rcu_free(): a block is gathered by its owner and closed by the collector ----

void free_two()
{
    rcu_free(replace_object());
    rcu_free(replace_object());
    rcu_barrier();
}

void free_setup()
{
    begin();
    sim::as_thread(sim::thread("reader", read_once), register_reader);
    sim::as_thread(sim::thread("updater", free_two), register_reader);
}

// ---- rcu_retire(): pointers to free are in the same two blocks as functions ----

void free_retired(void *object)
{
    sim::expect(poll_state_synchronize_rcu(queued_at[0]), "a whole grace period has passed since it was retired");
    free_callback(&static_cast<struct object *>(object)->head);
}

void retire_three()
{
    struct object *old = replace_object();
    queued_at[0] = get_state_synchronize_rcu();
    bool noted = rcu_retire(old, free_retired) == 0;
    rcu_free(replace_object());
    noted &= rcu_retire(replace_object(), free_retired) == 0;
    sim::expect(noted, "there is memory to record them in");
    rcu_barrier();
    sim::expect(invoked == 2, "each function was called");
}

void retire_setup()
{
    begin();
    sim::as_thread(sim::thread("reader", read_once), register_reader);
    sim::as_thread(sim::thread("updater", retire_three), register_reader);
}

// ---- without memory for another block, the pointers in the full block are not lost ----

int noted_objects, called_objects;

void count_called(void *)
{
    called_objects++;
}

void retire_while_refused()
{
    for (int i = 0; i < 3; i++)
        noted_objects += rcu_retire(nullptr, count_called) == 0;
    rcu_barrier();
    sim::expect(called_objects == noted_objects, "rcu_barrier() returns after the objects that were recorded");
}

void expect_nothing_kept()
{
    sim::expect(sim::live_allocations() == 1 && sim::live_pages() == 0, "memory for recorded objects is freed");
}

void retire_refused_setup()
{
    begin();
    noted_objects = called_objects = 0;
    sim::may_fail(sim::kMalloc | sim::kPages, 2);
    sim::as_thread(sim::thread("updater", retire_while_refused), register_reader);
}

// ---- rcu_retire() without memory, on a thread without a record, whose objects are recorded separately ----

void retire_alone_setup()
{
    begin();
    noted_objects = called_objects = 0;
    sim::may_fail(sim::kExitHooks | sim::kMalloc, 4);
    sim::thread("updater", retire_while_refused);
}

// ---- objects for whose record no memory exists mark the queue: the driver, whose sleep has no timeout, is woken ----

bool all_noted_are_called()
{
    return called_objects == noted_objects;
}

void retire_and_stay()
{
    for (int i = 0; i < 3; i++)
        noted_objects += rcu_retire(nullptr, count_called) == 0;
    sim::until(all_noted_are_called);
}

void retire_again_setup()
{
    begin();
    noted_objects = called_objects = 0;
    sim::may_fail(sim::kMalloc | sim::kPages, 2);
    sim::as_thread(sim::thread("updater", retire_and_stay), register_and_start_driver);
}

// ---- rcu_barrier() for pointers that another thread has passed to rcu_free(), with a full block after them ----

struct object *given[4];

void free_many()
{
    rcu_free(given[0]);
    rtrcu_store_release(&has_queued, true);
    rcu_free(given[1]);
    rcu_free(given[2]);
    rcu_free(given[3]);
}

void barrier_for_the_first()
{
    bool expected = rtrcu_load_acquire(&has_queued);
    rcu_barrier();
    sim::expect(!expected || sim::is_freed(given[0]), "rcu_barrier() returns after the frees requested before it");
}

void free_barrier_setup()
{
    begin();
    has_queued = false;
    for (struct object *&object : given)
        object = make_object();
    sim::as_thread(sim::thread("owner", free_many), register_reader);
    sim::as_thread(sim::thread("barrier", barrier_for_the_first), register_reader);
}

// ---- a callback runs when a grace period has passed since it was queued, whichever thread advanced it ----

void expect_reached(uint64_t cookie)
{
    sim::expect(poll_state_synchronize_rcu(cookie), "a whole grace period has passed since the callback was queued");
}

void first_callback(struct rcu_head *head)
{
    expect_reached(queued_at[0]);
    free_callback(head);
}

void second_callback(struct rcu_head *head)
{
    expect_reached(queued_at[1]);
    free_callback(head);
}

void call_with_cookies()
{
    struct object *old = replace_object();
    queued_at[0] = get_state_synchronize_rcu();
    call_rcu(&old->head, first_callback);
    old = replace_object();
    queued_at[1] = get_state_synchronize_rcu();
    call_rcu(&old->head, second_callback);
    rcu_barrier();
}

void cookies_setup()
{
    begin();
    sim::as_thread(sim::thread("updater", call_with_cookies), register_and_start_driver);
    sim::thread("other", rtrcu_synchronize);
}

void cookies_finish()
{
    sim::expect(invoked == 2, "rcu_barrier() has waited for both");
    expect_nothing_left();
}

// ---- an expedited request: the driver paces itself, and must be notified ----

uint64_t polled;

bool polled_is_reached()
{
    return seq_reached(rtrcu_domain.gp.machine[GP_NORMAL].seq, polled);
}

void poll_twice()
{
    polled = start_poll_synchronize_rcu();
    sim::until(polled_is_reached);
    polled = start_poll_synchronize_rcu();
    sim::until(polled_is_reached);
}

void hurry_setup()
{
    begin();
    sim::no_timeouts();
    sim::as_thread(sim::thread("updater", poll_twice), register_and_start_driver);
}

// ---- policy inline: the owner invokes at its quiescent states ----

void inline_owner()
{
    call_rcu(&replace_object()->head, free_callback);
    for (int i = 0; i < 12 && invoked == 0; i++) {
        rcu_quiescent_state();
        sim::step();
    }
    rcu_thread_offline();
    rcu_barrier();
    sim::expect(invoked == 1, "the owner or a daemon has invoked the callback once");
}

void inline_setup()
{
    begin();
    rtrcu_domain.config.first.policy = RTRCU_POLICY_INLINE;
    sim::as_thread(sim::thread("owner", inline_owner), register_qsbr);
    sim::as_thread(sim::thread("reader", read_once), register_reader);
}

// ---- callbacks become ready while a daemon releases the queue, which the owner has emptied ----

void run_own_and_call_again()
{
    call_rcu_hurry(&queued[0]->head, free_callback);
    for (int i = 0; i < 4; i++) {
        rcu_process_callbacks(-1);
        sim::step();
    }
    sim::until(one_invoked);
    call_rcu_hurry(&queued[1]->head, free_callback);
    sim::until(two_invoked);
}

void give_back_setup()
{
    begin();
    sim::no_timeouts();
    rtrcu_domain.config.first.policy = RTRCU_POLICY_INLINE;
    (void)tally_raise(&rtrcu_domain.cb.barriers); // a waiting barrier, for which daemons run callbacks
    queued[0] = make_object();
    queued[1] = make_object();
    sim::as_thread(sim::thread("owner", run_own_and_call_again), register_and_start_driver);
}

// ---- a daemon tries the queue while the owner holds the claim; the owner leaves the rest to the daemon ----

// Two callbacks are ready, and the queue is on the daemon's list.
void fill_and_start_driver()
{
    register_and_start_driver();
    call_rcu(&queued[0]->head, free_callback);
    call_rcu(&queued[1]->head, free_callback);
    (void)callback_collect(&rtrcu_domain.cb);
    rtrcu_synchronize();
    (void)serve_dispatch(&rtrcu_domain.drive.serve);
}

void run_one_and_rest()
{
    rcu_process_callbacks(0);
    sim::until(two_invoked);
}

void claimed_setup()
{
    begin();
    sim::no_timeouts();
    rtrcu_domain.config.first.policy = RTRCU_POLICY_INLINE;
    rtrcu_domain.config.first.blimit = 1;
    (void)tally_raise(&rtrcu_domain.cb.barriers); // a waiting barrier, for which daemons run callbacks
    queued[0] = make_object();
    queued[1] = make_object();
    sim::as_thread(sim::thread("owner", run_one_and_rest), fill_and_start_driver);
}

// ---- a callback that throws counts as returned for a thread that waits for it ----

int thrown;

void write_and_throw(struct rcu_head *)
{
    thrown = 1;
    throw 1;
}

void fill_with_thrower()
{
    register_reader();
    call_rcu(&queued[0]->head, write_and_throw);
    (void)callback_collect(&rtrcu_domain.cb);
    rtrcu_synchronize();
    (void)serve_dispatch(&rtrcu_domain.drive.serve);
    callback_barrier_set(&rtrcu_domain.cb);
}

void run_and_catch()
{
    try {
        rcu_process_callbacks(0);
    } catch (int) {
    }
}

bool has_thrown()
{
    return thrown == 1;
}

void look_for_thrown()
{
    sim::until(has_thrown); // orders nothing
    for (int i = 0; i < 10; i++) {
        if (callback_barrier_reached(&rtrcu_domain.cb)) {
            sim::expect(thrown == 1, "the waiter sees the effects of a callback from before it threw");
            return;
        }
    }
}

void thrown_setup()
{
    begin();
    thrown = 0;
    rtrcu_domain.config.first.policy = RTRCU_POLICY_INLINE;
    queued[0] = make_object();
    sim::as_thread(sim::thread("owner", run_and_catch), fill_with_thrower);
    sim::thread("waiter", look_for_thrown);
}

} // namespace

extern const sim::Scenario kThrown, kClaimed, kQueueReleased;
extern const sim::Scenario kCall, kCallTwo, kCallSignal, kCallExit, kBarrier, kBarrierTwo, kFree, kFreeBarrier, kRetire,
    kRetireRefused, kRetireAlone, kRetireAgain, kInline, kCallCookies, kHurry;

const sim::Scenario kCall = {
    "call", "one callback: queue, driver asleep or awake, daemon", call_setup, nullptr, check_invariants, 8000};
const sim::Scenario kCallTwo = {
    "call-two", "two threads of one leaf queue a callback each", call_two_setup, nullptr, check_invariants, 8000};
const sim::Scenario kCallSignal = {
    "call-signal", "a signal handler queues while its thread queues", signal_setup, nullptr, check_invariants, 8000};
const sim::Scenario kCallExit = {
    "call-exit", "a thread exits before its callback runs", leave_setup, nullptr, check_invariants, 8000};
const sim::Scenario kBarrier = {"barrier",        "rcu_barrier() during a callback that queues itself again",
                                barrier_setup,    nullptr,
                                check_invariants, 8000};
const sim::Scenario kBarrierTwo = {"barrier-two",     "rcu_barrier() waits for another thread's callback",
                                   barrier_two_setup, nullptr,
                                   check_invariants,  8000};
const sim::Scenario kFree = {
    "free", "rcu_free() of two objects that a reader may use", free_setup, expect_nothing_left, check_invariants, 8000};
const sim::Scenario kFreeBarrier = {"free-barrier",     "rcu_barrier() waits for another thread's rcu_free()",
                                    free_barrier_setup, nullptr,
                                    check_invariants,   8000};
const sim::Scenario kRetire = {"retire",         "rcu_retire() and rcu_free() of objects that a reader may use",
                               retire_setup,     expect_nothing_left,
                               check_invariants, 8000};
const sim::Scenario kRetireRefused = {"retire-refused",     "rcu_retire() while memory is refused for a while",
                                      retire_refused_setup, expect_nothing_kept,
                                      check_invariants,     8000};
const sim::Scenario kRetireAlone = {"retire-alone",     "rcu_retire() without memory, on a thread without a record",
                                    retire_alone_setup, expect_nothing_kept,
                                    check_invariants,   8000};
const sim::Scenario kRetireAgain = {
    "retire-again",     "rcu_retire() without memory, and only the driver runs callbacks",
    retire_again_setup, nullptr,
    check_invariants,   8000};
const sim::Scenario kInline = {
    "inline", "the owner runs callbacks at its quiescent states", inline_setup, nullptr, check_invariants, 8000};

const sim::Scenario kCallCookies = {"call-cookies",   "a callback runs after its cookie, whichever thread advances",
                                    cookies_setup,    cookies_finish,
                                    check_invariants, 8000};
const sim::Scenario kQueueReleased = {"queue-released", "callbacks become ready while a daemon releases the queue",
                                      give_back_setup,  nullptr,
                                      check_invariants, 8000};
const sim::Scenario kClaimed = {"claimed",        "a daemon tries a queue while its owner runs part of it",
                                claimed_setup,    nullptr,
                                check_invariants, 8000};
const sim::Scenario kThrown = {"thrown",         "a callback throws while another thread waits for its end",
                               thrown_setup,     nullptr,
                               check_invariants, 8000};
const sim::Scenario kHurry = {
    "hurry", "a polled cookie while the driver paces itself", hurry_setup, nullptr, check_invariants, 8000};

} // namespace scenarios

// SPDX-License-Identifier: MIT OR Apache-2.0
// Flavours of liburcu that a program adopts: the program's own code contains the readers' word and protocol. The locks
// and unlocks are those of this library's headers that replace liburcu's.  They follow liburcu's ABI: the word takes a
// copy of the generation, the fence is light if the updater has membarrier(), and a reader that leaves checks the
// futex.  Their relaxed stores are treated as releases, which they are on x86.  test/litmus/arm/ covers their effect on
// other machines, and their pairing with the grace period's last fence.
#include "scenarios/common.h"

#pragma push_macro("rtrcu_store_relaxed")
#undef rtrcu_store_relaxed
#define rtrcu_store_relaxed(p, v) rtrcu_store_release(p, v)
#include <rtrcu/detail/nesting.h>
#pragma pop_macro("rtrcu_store_relaxed")

namespace scenarios
{

namespace
{

constexpr uint32_t kAsleep = UINT32_MAX;

uint64_t generation;
uint32_t sleeper, light;
struct rtrcu_adopted_reader blocks[12];
struct rtrcu_adopted *adopted;

struct rtrcu_adopted_reader *self()
{
    return &blocks[plat_thread_id().number];
}

void lock()
{
    rtrcu_adopted_enter(&self()->word, &generation, &light);
}

void unlock()
{
    bool left = rtrcu_adopted_leave(&self()->word, &generation, &light);
    if (left && rtrcu_load_relaxed(&sleeper) == kAsleep) {
        rtrcu_store_relaxed(&sleeper, 0);
        plat_futex_wake_shared(&sleeper, 1);
    }
}

void read_adopted()
{
    lock();
    use_object();
    unlock();
}

void read_three_times()
{
    for (int i = 0; i < 3; i++)
        read_adopted();
}

void join()
{
    (void)urcu_register(adopted);
}

void join_and_read()
{
    join();
    read_adopted();
    urcu_unregister(adopted);
}

void replace_and_wait_adopted()
{
    struct object *old = rtrcu_exchange(&shared, make_object());
    urcu_wait(adopted, urcu_snap(adopted));
    free_object(old);
    rtrcu_fetch_add(&updaters, (uint32_t)-1);
}

void replace_thrice()
{
    for (int i = 0; i < 3; i++) {
        struct object *old = replace_object();
        urcu_wait(adopted, urcu_snap(adopted));
        free_object(old);
    }
    rtrcu_fetch_add(&updaters, (uint32_t)-1);
}

void begin(uint32_t kind)
{
    configure();
    generation = 1;
    const struct rtrcu_adopt_flavour flavour = {
        kind, "simulated", &generation, &sleeper, kind == RTRCU_ADOPT_MEMB ? &light : nullptr, self, nullptr, nullptr};
    adopted = urcu_flavour(&rtrcu_domain.urcu, &flavour);
    shared = make_object();
}

void idle()
{
    sim::expect(!seq_is_running(adopted->seq), "no grace period is in progress at the end");
    sim::expect(adopted->gp_lock.word == 0 && adopted->words_lock.word == 0, "no thread holds a lock at the end");
}

void invariants()
{
    check_invariants();
}

// ---- one reader with short sections, and successive grace periods ----

void publish_setup()
{
    begin(RTRCU_ADOPT_MEMB);
    sim::as_thread(sim::thread("reader", read_three_times), join);
    sim::thread("updater", replace_thrice);
}

void full_setup()
{
    begin(RTRCU_ADOPT_MB);
    sim::as_thread(sim::thread("reader", read_three_times), join);
    sim::thread("updater", replace_thrice);
}

// ---- two updaters, which contend for the gp lock ----

void two_setup()
{
    begin(RTRCU_ADOPT_MEMB);
    sim::no_timeouts();
    updaters = 2;
    sim::as_thread(sim::thread("reader", read_adopted), join);
    sim::thread("first", replace_and_wait_adopted);
    sim::as_thread(sim::thread("second", replace_and_wait_adopted), join);
}

// ---- a reader is stopped between its load of the generation and its store, for all of the grace periods ----

void read_stale()
{
    uint64_t loaded = rtrcu_load_relaxed(&generation);
    read_adopted();
    rtrcu_adopted_enter(&self()->word, &loaded, &light);
    use_object();
    unlock();
}

void stale_setup()
{
    begin(RTRCU_ADOPT_MEMB);
    sim::as_thread(sim::thread("reader", read_stale), join);
    sim::thread("updater", replace_thrice);
}

// ---- the reader starts a new section immediately, and stays: a grace period does not wait for later sections ----

bool stepped_or_done()
{
    return generation != 1 || updaters == 0;
}

bool done()
{
    return updaters == 0;
}

void read_and_come_back()
{
    read_adopted();
    sim::until(stepped_or_done);
    lock();
    sim::until(done);
    unlock();
}

void come_back_setup()
{
    begin(RTRCU_ADOPT_MEMB);
    sim::no_timeouts();
    sim::as_thread(sim::thread("reader", read_and_come_back), join);
    sim::thread("updater", replace_and_wait_adopted);
}

// ---- a waiter sleeps without a timeout: only an unlock of a reader wakes it ----

void sleep_beside(uint32_t kind)
{
    begin(kind);
    sim::no_timeouts();
    sim::as_thread(sim::thread("reader", read_adopted), join);
    sim::as_thread(sim::thread("other", read_adopted), join);
    sim::thread("updater", replace_and_wait_adopted);
}

void sleep_setup()
{
    sleep_beside(RTRCU_ADOPT_MEMB);
}

void full_sleep_setup()
{
    sleep_beside(RTRCU_ADOPT_MB);
}

// ---- readers that register and exit ----

void register_setup()
{
    begin(RTRCU_ADOPT_MEMB);
    sim::no_timeouts();
    sim::thread("newcomer", join_and_read);
    sim::as_thread(sim::thread("leaver", join_and_read), join);
    sim::thread("updater", replace_thrice);
}

// ---- the quiescent-state discipline ----

void quiesce()
{
    uint64_t now = rtrcu_load_relaxed(&generation);
    if (now == rtrcu_load_relaxed(&self()->word))
        return;
    rtrcu_fence_full();
    rtrcu_store_release(&self()->word, now);
    rtrcu_fence_full();
    if (rtrcu_load_relaxed(&self()->waiting)) {
        rtrcu_store_relaxed(&self()->waiting, 0);
        rtrcu_fence_full();
        if (rtrcu_load_relaxed(&sleeper) == kAsleep) {
            rtrcu_store_relaxed(&sleeper, 0);
            plat_futex_wake_shared(&sleeper, 1);
        }
    }
}

void work_online()
{
    for (int i = 0; i < 3; i++) {
        use_object();
        quiesce();
    }
    use_object();
    urcu_offline(adopted);
}

void wait_online()
{
    use_object();
    struct object *old = replace_object();
    urcu_synchronize(adopted, "test");
    free_object(old);
    use_object();
    urcu_offline(adopted);
    rtrcu_fetch_add(&updaters, (uint32_t)-1);
}

void qsbr_setup()
{
    begin(RTRCU_ADOPT_QSBR);
    sim::no_timeouts();
    sim::as_thread(sim::thread("worker", work_online), join);
    sim::as_thread(sim::thread("updater", wait_online), join);
}

// ---- a reader comes online: either the scan sees it, or it sees that the object was unlinked ----

void read_online_thrice()
{
    for (int i = 0; i < 3; i++) {
        urcu_offline(adopted);
        urcu_online(adopted);
        use_object();
    }
    urcu_offline(adopted);
}

void online_setup()
{
    begin(RTRCU_ADOPT_QSBR);
    sim::no_timeouts();
    sim::as_thread(sim::thread("worker", read_online_thrice), join);
    sim::thread("updater", replace_thrice);
}

// ---- the kernel begins to refuse membarrier() ----

void refuse_membarrier()
{
    sim::refuse_fences(true, false);
}

void refused_setup()
{
    begin(RTRCU_ADOPT_MEMB);
    sim::as_thread(sim::thread("reader", read_three_times), join);
    sim::thread("updater", replace_thrice);
    sim::event("membarrier is refused from now on", refuse_membarrier);
}

// From now on only membarrier() is refused, so a visit to every CPU can confirm that readers use full fences.
void allow_visit()
{
    sim::refuse_fences(true, false);
}

void refused_both_setup()
{
    begin(RTRCU_ADOPT_MEMB);
    sim::refuse_fences(true, true);
    sim::early_timeouts(2);
    sim::as_thread(sim::thread("reader", read_three_times), join);
    sim::thread("updater", replace_thrice);
    sim::event("the visit to every CPU is allowed again", allow_visit);
}

// ---- callbacks ----

void call_and_wait_for_all()
{
    urcu_call(adopted, &replace_object()->head, free_callback);
    urcu_barrier(adopted);
    sim::expect(invoked == 1, "the callback has run once");
    rtrcu_fetch_add(&updaters, (uint32_t)-1);
}

void call_setup()
{
    begin(RTRCU_ADOPT_MEMB);
    sim::no_timeouts();
    sim::as_thread(sim::thread("reader", read_adopted), join);
    sim::thread("updater", call_and_wait_for_all);
}

bool two_invoked()
{
    return invoked == 2;
}

void call_and_stay()
{
    urcu_call(adopted, &make_object()->head, free_callback);
    sim::until(two_invoked);
}

// No timeout: a thread that finds the server asleep must wake it.
void wake_setup()
{
    begin(RTRCU_ADOPT_MEMB);
    rtrcu_domain.config.first.qhimark = 0; /* no pause */
    sim::thread("first", call_and_stay);
    sim::thread("second", call_and_stay);
}

// ---- a handle is freed with a callback of its own queued, while a barrier runs ----

uint32_t handle_has_one;

void call_and_free_handle()
{
    struct adopt_server *server = urcu_server_create(adopted, 0, -1);
    urcu_server_call(server, &replace_object()->head, free_callback);
    rtrcu_store_release(&handle_has_one, 1);
    urcu_server_free(adopted, server);
    rtrcu_fetch_add(&updaters, (uint32_t)-1);
}

bool handle_has_it()
{
    return rtrcu_load_acquire(&handle_has_one) != 0;
}

void wait_for_handle()
{
    sim::until(handle_has_it);
    urcu_barrier(adopted);
    sim::expect(invoked == 1, "the callback has run when the barrier returns");
}

void free_setup()
{
    begin(RTRCU_ADOPT_MB);
    handle_has_one = 0;
    sim::thread("updater", call_and_free_handle);
    sim::thread("barrier", wait_for_handle);
}

// ---- without memory to store a deferred function, the deferring thread waits and runs it ----

struct object *spare;

void free_deferred(void *object)
{
    free_object(static_cast<struct object *>(object));
    invoked++;
}

bool one_invoked()
{
    return invoked == 1;
}

void defer_old()
{
    urcu_defer(adopted, free_deferred, rtrcu_exchange(&shared, spare));
    sim::until(one_invoked);
}

void defer_setup()
{
    begin(RTRCU_ADOPT_MEMB);
    rtrcu_domain.config.first.qhimark = 0; /* no pause */
    spare = make_object();
    sim::may_fail(sim::kMalloc, 1);
    sim::as_thread(sim::thread("reader", read_adopted), join);
    sim::thread("updater", defer_old);
}

// ---- the fork handlers while a server runs a callback: no timeout ends the forking thread's wait for it ----

uint32_t inside;

void free_slowly(struct rcu_head *head)
{
    rtrcu_store_relaxed(&inside, 1);
    sim::step();
    rtrcu_store_relaxed(&inside, 0);
    free_callback(head);
}

void call_at_once()
{
    struct adopt_server *server = urcu_server_in_use(adopted);
    urcu_server_call(server, &make_object()->head, free_slowly);
    (void)urcu_server_urge(server);
    sim::until(one_invoked);
}

void pause_and_resume()
{
    urcu_pause(&rtrcu_domain.urcu);
    for (int i = 0; i < 3; i++) {
        sim::expect(rtrcu_load_relaxed(&inside) == 0, "no thread is inside a callback while another thread forks");
        sim::step();
    }
    urcu_resume(&rtrcu_domain.urcu);
}

void pause_setup()
{
    begin(RTRCU_ADOPT_MEMB);
    sim::no_timeouts();
    rtrcu_domain.config.first.qhimark = 0; /* no pause */
    sim::thread("caller", call_at_once);
    sim::thread("forker", pause_and_resume);
}

} // namespace

extern const sim::Scenario kAdopted, kAdoptedFree, kAdoptedFull, kAdoptedTwo, kAdoptedStale, kAdoptedStay,
    kAdoptedSleep, kAdoptedFullSleep, kAdoptedRegister, kAdoptedQsbr, kAdoptedRefused, kAdoptedCall, kAdoptedWake,
    kAdoptedDefer, kAdoptedPause, kAdoptedOnline, kAdoptedRefusedBoth;

const sim::Scenario kAdopted = {
    "adopted", "a reader of an adopted flavour during three grace periods", publish_setup, idle, invariants, 6000};
const sim::Scenario kAdoptedFull = {
    "adopted-full", "a reader of an adopted flavour and an updater that both use full fences",
    full_setup,     idle,
    invariants,     6000};
const sim::Scenario kAdoptedTwo = {
    "adopted-two", "two updaters of an adopted flavour, one of which also reads", two_setup, idle, invariants, 6000};
const sim::Scenario kAdoptedStale = {
    "adopted-stale", "a reader stores a generation that it loaded long before", stale_setup, idle, invariants, 6000};
const sim::Scenario kAdoptedStay = {
    "adopted-stay", "a reader leaves, enters again immediately, and stays", come_back_setup, nullptr, invariants, 6000};
const sim::Scenario kAdoptedSleep = {
    "adopted-sleep", "two readers wake a waiter that sleeps", sleep_setup, idle, invariants, 6000};
const sim::Scenario kAdoptedFullSleep = {"adopted-full-sleep", "two readers with full fences wake a waiter that sleeps",
                                         full_sleep_setup,     idle,
                                         invariants,           6000};
const sim::Scenario kAdoptedRegister = {
    "adopted-register", "readers register and exit during a grace period", register_setup, idle, invariants, 8000};
const sim::Scenario kAdoptedQsbr = {
    "adopted-qsbr", "an online updater waits for an online reader", qsbr_setup, idle, invariants, 6000};
const sim::Scenario kAdoptedRefused = {
    "adopted-refused", "membarrier() is refused from any step on", refused_setup, idle, invariants, 8000};
const sim::Scenario kAdoptedOnline = {
    "adopted-online", "a quiescent-state thread comes online repeatedly", online_setup, idle, invariants, 6000};
const sim::Scenario kAdoptedRefusedBoth = {"adopted-refused-both",
                                           "the visit to every CPU is also refused for a while",
                                           refused_both_setup,
                                           idle,
                                           invariants,
                                           8000};
const sim::Scenario kAdoptedCall = {
    "adopted-call", "a callback, its server and a barrier", call_setup, nullptr, invariants, 12000};
const sim::Scenario kAdoptedFree = {
    "adopted-free", "a handle is freed during a barrier", free_setup, nullptr, invariants, 12000};
const sim::Scenario kAdoptedWake = {
    "adopted-wake", "two callbacks, and a server that sleeps", wake_setup, nullptr, invariants, 12000};
const sim::Scenario kAdoptedDefer = {
    "adopted-defer", "memory is refused to a thread that defers a function", defer_setup, nullptr, invariants, 12000};
const sim::Scenario kAdoptedPause = {
    "adopted-pause", "the fork handlers during a callback", pause_setup, nullptr, invariants, 12000};

} // namespace scenarios

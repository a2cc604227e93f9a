// SPDX-License-Identifier: MIT OR Apache-2.0
// Domains that a program defines: readers stopped between loading the index and adding to the counter, waiters,
// stripes, callbacks.
//
// Sections are those of programs built without RTRCU_DEBUG, whose bookkeeping would only add steps.
#include "scenarios/common.h"

#include <stdlib.h>

namespace scenarios
{

namespace
{

struct srcu_struct domain;
struct srcu_struct *allocated;

void read_section()
{
    int index = rtrcu_srcu_enter(&domain);
    use_object();
    rtrcu_srcu_leave(&domain, index);
}

void read_twice()
{
    read_section();
    read_section();
}

// A section in two parts, with other sections in between.
struct object *held;
int held_index;

void hold()
{
    held_index = rtrcu_srcu_enter(&domain);
    held = srcu_dereference(shared, &domain);
}

void go_on()
{
    sim::step();
    sim::expect(held->value == 42, "a reader may use the object until its section ends");
    rtrcu_srcu_leave(&domain, held_index);
}

void come_and_go()
{
    for (int i = 0; i < 5; i++)
        rtrcu_srcu_leave(&domain, rtrcu_srcu_enter(&domain));
}

// Two overlapping sections, which end in the order in which they began.
void read_crossed()
{
    int first = rtrcu_srcu_enter(&domain);
    int second = rtrcu_srcu_enter(&domain);
    rtrcu_srcu_leave(&domain, first);
    use_object();
    rtrcu_srcu_leave(&domain, second);
}

void exchange()
{
    struct object *old = rcu_xchg_pointer(&shared, make_object());
    synchronize_srcu(&domain);
    free_object(old);
}

void exchange_twice()
{
    exchange();
    exchange();
}

void exchange_and_poll()
{
    struct object *old = rcu_xchg_pointer(&shared, make_object());
    unsigned long cookie = start_poll_synchronize_srcu(&domain);
    while (!poll_state_synchronize_srcu(&domain, cookie))
        sim_relax("poll");
    free_object(old);
}

// Wait for a grace period of the domain, which another updater may share.
void wait_only()
{
    synchronize_srcu(&domain);
}

// Publish without an update: only the grace period issues fences.
void publish()
{
    struct object *old = replace_object();
    synchronize_srcu(&domain);
    free_object(old);
}

void know_number()
{
    (void)lock_thread_number();
}

void grow_and_read()
{
    rtrcu_srcu_sample(&domain);
    read_twice();
}

// Start a scenario without the worker.  No timed wait ends by itself, so a lost wake-up is a deadlock.
void begin()
{
    configure();
    sim::no_timeouts();
    shared = make_object();
    rtrcu_domain.srcu.thread.state = WORK_RUNNING; // no worker is created
    rtrcu_srcu_define(&domain, "domain");
}

void begin_with_worker()
{
    configure();
    shared = make_object();
    rtrcu_srcu_define(&domain, "domain");
}

void finish()
{
    sim::expect(srcu_inside(&domain) == 0, "every section is counted as ended");
    sim::expect(cleanup_srcu_struct(&domain) == 0, "a domain that is not used can be cleaned up");
}

void publish_setup()
{
    begin();
    sim::thread("reader", read_section);
    sim::thread("updater", publish);
}

void sums_setup()
{
    begin();
    sim::as_thread(sim::thread("reader", go_on), hold);
    sim::thread("busy", come_and_go);
    sim::thread("updater", exchange);
}

void crossed_setup()
{
    begin();
    sim::thread("reader", read_crossed);
    sim::thread("updater", exchange_twice);
}

void two_setup()
{
    begin();
    sim::thread("reader", read_section);
    sim::thread("updater", publish);
    sim::thread("other", wait_only);
}

void wake_setup()
{
    begin();
    sim::as_thread(sim::thread("reader", go_on), hold);
    sim::thread("waiter", wait_only);
    sim::thread("other", wait_only);
}

void late_setup()
{
    begin();
    sim::thread("late", read_section);
    sim::thread("busy", read_twice);
    sim::thread("updater", exchange_twice);
}

void poll_setup()
{
    begin();
    sim::thread("reader", read_twice);
    sim::thread("poller", exchange_and_poll);
    sim::thread("updater", exchange);
}

// ---- a reader gives the domain more stripes, and is counted on one of them ----

void grow_setup()
{
    begin();
    rtrcu_domain.srcu.stripes = 2;
    domain.sampled = UINT32_MAX;
    sim::as_thread(sim::thread("reader", grow_and_read), know_number);
    sim::thread("updater", publish);
    sim::thread("other", wait_only);
}

// ---- the domain is freed as soon as its sections have ended ----

uint32_t begun;

void read_and_end()
{
    int index = rtrcu_srcu_enter(allocated);
    rtrcu_store_release(&begun, 1);
    rtrcu_srcu_leave(allocated, index);
}

bool has_begun()
{
    return rtrcu_load_relaxed(&begun);
}

void free_domain()
{
    sim::until(has_begun);
    synchronize_srcu(allocated);
    sim::expect(cleanup_srcu_struct(allocated) == 0, "a domain whose last section has ended can be cleaned up");
    free(allocated);
}

void allocate()
{
    allocated = static_cast<struct srcu_struct *>(malloc(sizeof(*allocated)));
    rtrcu_srcu_define(allocated, "allocated");
}

void freed_setup()
{
    begin();
    sim::thread("reader", read_and_end);
    sim::as_thread(sim::thread("owner", free_domain), allocate);
}

// ---- callbacks ----

void free_alone(struct rcu_head *head)
{
    free_object(reinterpret_cast<struct object *>(head));
}

struct object *exchange_and_queue()
{
    struct object *old = rcu_xchg_pointer(&shared, make_object());
    call_srcu(&domain, &old->head, free_alone);
    return old;
}

void exchange_and_call()
{
    (void)exchange_and_queue();
}

void call_and_wait()
{
    struct object *old = exchange_and_queue();
    srcu_barrier(&domain);
    sim::expect(sim::is_freed(old), "a barrier waits for the callbacks queued before it");
}

void call_setup()
{
    begin_with_worker();
    sim::thread("reader", read_section);
    sim::thread("updater", call_and_wait);
    sim::thread("other", exchange_and_call);
}

// The worker accesses nothing of a domain after the domain's last barrier.
void end_after_barrier()
{
    struct object *old = rcu_xchg_pointer(&shared, make_object());
    call_srcu(allocated, &old->head, free_callback);
    srcu_barrier(allocated);
    sim::expect(cleanup_srcu_struct(allocated) == 0, "a domain can be cleaned up after its barrier");
    free(allocated);
}

void barrier_setup()
{
    begin_with_worker();
    sim::as_thread(sim::thread("owner", end_after_barrier), allocate);
}

// ---- a fork ----

void fork_inside()
{
    int index = rtrcu_srcu_enter(&domain);
    sim::fork();
    rtrcu_srcu_leave(&domain, index);
    exchange();
    read_section();
    exchange();
}

void fork_setup()
{
    begin();
    sim::thread("reader", read_twice);
    sim::thread("updater", exchange);
    sim::thread("forker", fork_inside);
}

} // namespace

extern const sim::Scenario kDomainPublish, kDomainSums, kDomainCrossed, kDomainTwo, kDomainWake, kDomainLate,
    kDomainPoll, kDomainGrow, kDomainFreed, kDomainCall, kDomainBarrier, kDomainFork;

const sim::Scenario kDomainPublish = {
    "domain-publish", "a reader of a domain during an update", publish_setup, finish, nullptr, 20000};
const sim::Scenario kDomainSums = {
    "domain-sums", "two readers during one grace period of a domain", sums_setup, finish, nullptr, 20000};
const sim::Scenario kDomainCrossed = {
    "domain-crossed", "overlapping sections during two grace periods", crossed_setup, finish, nullptr, 20000};
const sim::Scenario kDomainTwo = {
    "domain-two", "two updaters of a domain share grace periods", two_setup, finish, nullptr, 20000};
const sim::Scenario kDomainWake = {
    "domain-wake", "two waiters announce themselves in one word", wake_setup, finish, nullptr, 20000};
const sim::Scenario kDomainLate = {
    "domain-late", "a reader keeps an old index through grace periods", late_setup, finish, nullptr, 20000};
const sim::Scenario kDomainPoll = {
    "domain-poll", "a polled and a waited-for grace period of a domain", poll_setup, finish, nullptr, 20000};
const sim::Scenario kDomainGrow = {
    "domain-grow", "a domain gets more stripes during a grace period", grow_setup, finish, nullptr, 20000};
const sim::Scenario kDomainFreed = {
    "domain-freed", "a domain is freed when its last section has ended", freed_setup, nullptr, nullptr, 20000};
const sim::Scenario kDomainCall = {
    "domain-call", "callbacks of two threads during a section", call_setup, nullptr, nullptr, 20000};
const sim::Scenario kDomainBarrier = {
    "domain-barrier", "a domain is freed after its barrier", barrier_setup, nullptr, nullptr, 20000};
const sim::Scenario kDomainFork = {
    "domain-fork", "a thread forks inside a section while other threads read", fork_setup, nullptr, nullptr, 20000};

} // namespace scenarios

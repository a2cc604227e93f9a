// SPDX-License-Identifier: MIT OR Apache-2.0
// The limit of the process's backlog: threads that compare the backlog with it concurrently, and an owner that checks
// its share.
#include "scenarios/common.h"

namespace scenarios
{

namespace
{

struct object *object[3];
struct reader_record *owner;
bool has_queued_third, has_raised;

const struct callback_bound *bound()
{
    return &rtrcu_domain.cb.bound;
}

void begin(int64_t most)
{
    configure()->qmax_process = most;
    shared = make_object();
    sim::no_timeouts();
}

// ---- the driver raises the flag while a daemon's batch returns ----

bool is_third_queued()
{
    return has_queued_third;
}

// Returns whether the flag is clear after three callbacks were collected and two or three have returned: the backlog is
// then at most 1, which is the limit.
bool is_judged()
{
    uint64_t collected = rtrcu_load_relaxed(&bound()->collected), returned = rtrcu_load_relaxed(&bound()->returned);
    return collected == 3 && returned >= 2 && !callback_bound_is_exceeded(&rtrcu_domain.cb);
}

bool all_returned()
{
    return rtrcu_load_relaxed(&bound()->returned) == 3 && !callback_bound_is_exceeded(&rtrcu_domain.cb);
}

void free_and_queue_third(struct rcu_head *head)
{
    free_callback(head);
    call_rcu_hurry(&object[2]->head, free_callback);
    has_queued_third = true;
}

void call_two()
{
    call_rcu_hurry(&object[0]->head, free_callback);
    call_rcu_hurry(&object[1]->head, free_and_queue_third);
    sim::until(all_returned);
}

// A section for which the third callback waits.
void read_until_judged()
{
    sim::until(is_third_queued);
    rcu_read_lock();
    sim::until(is_judged);
    rcu_read_unlock();
    sim::until(all_returned);
}

void judged_setup()
{
    begin(1);
    for (struct object *&each : object)
        each = make_object();
    sim::as_thread(sim::thread("reader", read_until_judged), register_reader);
    sim::as_thread(sim::thread("updater", call_two), register_and_start_driver);
}

// ---- an owner sets its next check while shares come into force ----

// Returns whether the owner checks its share soon.  If its next check stayed far, no thread would tell the owner about
// the shares.
bool is_next_check_near()
{
    const struct cb_queue *queue = &callback_slot(owner)->queue;
    return has_raised && rtrcu_load_relaxed(&queue->check_at) <= rtrcu_load_relaxed(&queue->enqueued) + 2;
}

// Raises the backlog, like a collector that finds the callbacks of many other threads.
void raise()
{
    rtrcu_fetch_add(&rtrcu_domain.cb.bound.collected, UINT64_C(8));
    callback_bound_judge(&rtrcu_domain.cb);
    has_raised = true;
}

void check_beside_raising()
{
    call_rcu(&replace_object()->head, free_callback);
    sim::until(is_next_check_near);
}

void register_owner()
{
    register_and_start_driver();
    owner = reader_self();
}

void share_setup()
{
    begin(4);
    sim::as_thread(sim::thread("raiser", raise), register_reader);
    sim::as_thread(sim::thread("owner", check_beside_raising), register_owner);
}

} // namespace

extern const sim::Scenario kBacklogLimit, kShareChecked;

const sim::Scenario kBacklogLimit = {
    "backlog-limit", "two threads compare the backlog with its limit, one after a batch",
    judged_setup,    nullptr,
    nullptr,         12000};
const sim::Scenario kShareChecked = {
    "share-checked", "an owner checks its share while shares come into force", share_setup, nullptr, nullptr, 8000};

} // namespace scenarios

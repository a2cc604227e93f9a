// SPDX-License-Identifier: MIT OR Apache-2.0
// Writers replace elements and nodes, and wait in every way until no reader is left; fake writers only wait.
#include <sched.h>

#include "measure/clock.h"
#include "torture/actors.h"
#include "torture/watchdog.h"

namespace lab::torture
{
namespace
{

// Returns true if the way passes the old data to a callback.
bool is_callback(Way way)
{
    return way == Way::call || way == Way::call_hurry || way == Way::call_try;
}

bool is_bulk_free(Way way)
{
    return way == Way::free || way == Way::free_head || way == Way::retire;
}

// The four functions for cookies of one kind of grace period.
struct CookieCalls {
    unsigned long (*get_state)();
    unsigned long (*start_poll)();
    bool (*poll)(unsigned long cookie);
    void (*cond)(unsigned long cookie);
};

void poll_until_complete(Actor &actor, const CookieCalls &calls)
{
    While polling(actor, Doing::polling);
    const unsigned long cookie = calls.start_poll();
    if (wait_until(actor, [&] { return calls.poll(cookie); }))
        return;
    actor.context.findings.report(
        Check::cookie, "{}: cookie {} of start_poll is not complete after {} ms; a new cookie is {}",
        actor.record.name.data(), cookie, actor.context.patience_ns / 1'000'000, calls.get_state());
    calls.cond(cookie);
}

void wait_by_cookie(Actor &actor, Way way)
{
    const Flavour &flavour = actor.context.flavour;
    const CookieCalls normal = {flavour.get_state, flavour.start_poll, flavour.poll, flavour.cond};
    const CookieCalls expedited = {flavour.get_state_expedited, flavour.start_poll_expedited, flavour.poll_expedited,
                                   flavour.cond_expedited};
    if (way == Way::poll_start || way == Way::poll_expedited)
        return poll_until_complete(actor, way == Way::poll_start ? normal : expedited);
    const CookieCalls &calls = way == Way::cond_expedited ? expedited : normal;
    const unsigned long cookie = calls.get_state();
    const int64_t polls = way == Way::poll_get ? actor.random.between(1, 20) : 0;
    for (int64_t i = 0; i < polls && !calls.poll(cookie); i++)
        actor.rest(50);
    {
        While waiting(actor, Doing::cond);
        calls.cond(cookie);
    }
    if (!calls.poll(cookie))
        actor.context.findings.report(Check::cookie, "{}: cookie {} is not complete after {}", actor.record.name.data(),
                                      cookie, name_of(way));
}

void note_late(Actor &actor, Way way, int64_t ns, uint32_t gaps_before)
{
    Context &context = actor.context;
    if (context.scenario.late_ms == 0 || ns < context.scenario.late_ms * 1'000'000)
        return;
    pause_ns(2 * watch_gap_ns); // long enough for the watchdog to notice that the process was stopped
    if (context.gaps.load() != gaps_before)
        return;
    if (context.late_waits.fetch_add(1) >= 2) // the machine may have delayed one or two grace periods
        context.findings.report(Check::late, "{}: {} took {} ms, much longer than any section",
                                actor.record.name.data(), name_of(way), ns / 1'000'000);
}

// Replaced elements, which their writer keeps until it has waited for a grace period.
class Removed
{
  public:
    explicit Removed(Context &context) : context_(context)
    {
    }
    void add(Element *element)
    {
        elements_.push_back(element);
    }
    void grow_older()
    {
        std::erase_if(elements_, [this](Element *element) { return context_.pipeline.grow_older(*element); });
    }
    bool empty() const
    {
        return elements_.empty();
    }

  private:
    Context &context_;
    std::vector<Element *> elements_;
};

void update_element(Actor &actor, Way way, Removed &removed)
{
    Context &context = actor.context;
    Element *old = context.pipeline.replace(actor.random.below(4096));
    if (!old) {
        actor.rest(500); // no element is free: all are in the pipeline
        if (!removed.empty()) {
            wait_in_way(actor, Way::sync);
            removed.grow_older();
        }
        return;
    }
    actor.count_update();
    if (is_callback(way)) {
        While calling(actor, Doing::call);
        if (context.pipeline.age_by_callbacks(*old, way, actor.random.below(~UINT64_C(0))))
            return;
        way = Way::sync;
    }
    removed.add(old);
    wait_in_way(actor, is_bulk_free(way) ? Way::sync : way);
    removed.grow_older();
}

void update_node(Actor &actor, Way way)
{
    Context &context = actor.context;
    HeapNode *old = context.heap.replace(actor.random.below(4096));
    actor.count_update();
    if (way == Way::free)
        return context.flavour.free_memory(old);
    if (way == Way::free_head)
        return context.flavour.free_head(old);
    if (way == Way::retire && context.heap.retire(old))
        return;
    if (is_callback(way)) {
        While calling(actor, Doing::call);
        if (context.heap.give_back_by_callback(old, way))
            return;
        way = Way::sync;
    }
    wait_in_way(actor, is_bulk_free(way) ? Way::sync : way);
    context.heap.give_back(old);
}

void become_realtime(Actor &actor)
{
    sched_param parameter{};
    parameter.sched_priority = 5;
    if (actor.index < static_cast<uint64_t>(actor.context.scenario.writers_rt))
        sched_setscheduler(0, SCHED_FIFO,
                           &parameter); // without real-time permission, the writer stays an ordinary thread
}

void write(Actor &actor)
{
    const Scenario &scenario = actor.context.scenario;
    Removed removed(actor.context);
    become_realtime(actor);
    while (actor.keep_going()) {
        const Way way = actor.random.pick(scenario.ways);
        if (actor.random.one_in(2))
            update_element(actor, way, removed);
        else
            update_node(actor, way);
        if (actor.random.one_in(16)) {
            While processing(actor, Doing::processing);
            rcu_process_callbacks(0);
        }
        if (scenario.pause_us > 0)
            actor.rest(scenario.pause_us);
    }
    while (!removed.empty()) {
        wait_in_way(actor, Way::sync);
        removed.grow_older();
    }
}

void write_nothing(Actor &actor)
{
    const std::vector<Way> &ways = actor.context.scenario.ways;
    while (actor.keep_going()) {
        const Way way = actor.random.pick(ways);
        if (is_callback(way) || is_bulk_free(way))
            actor.context.pool.queue_one(actor.random.below(4096), is_callback(way) ? way : Way::call);
        else
            wait_in_way(actor, way);
        if (actor.random.one_in(4))
            actor.rest(actor.context.scenario.pause_us);
    }
}

} // namespace

void wait_in_way(Actor &actor, Way way)
{
    const Flavour &flavour = actor.context.flavour;
    const bool expedited = way == Way::expedited || way == Way::cond_expedited || way == Way::poll_expedited;
    const unsigned long before = expedited ? flavour.get_state_expedited() : flavour.get_state();
    const uint32_t gaps_before = actor.context.gaps.load();
    const int64_t began = now_ns();
    if (way == Way::sync) {
        While waiting(actor, Doing::synchronize);
        flavour.synchronize();
    } else if (way == Way::expedited) {
        While waiting(actor, Doing::expedited);
        flavour.synchronize_expedited();
    } else {
        wait_by_cookie(actor, way);
    }
    note_late(actor, way, now_ns() - began, gaps_before);
    // If settings may replace waits of one kind by waits of the other kind, a wait that takes no cookie need not
    // complete a cookie of its own kind.
    const bool takes_no_cookie = way == Way::sync || way == Way::expedited;
    if (takes_no_cookie && actor.context.kinds_are_mixed)
        return;
    if (!(expedited ? flavour.poll_expedited(before) : flavour.poll(before)))
        actor.context.findings.report(Check::cookie,
                                      "{}: cookie {} was taken before a wait by {}, and is not complete after the wait",
                                      actor.record.name.data(), before, name_of(way));
}

void add_writers(Cast &cast, const Scenario &scenario)
{
    for (int64_t i = 0; i < scenario.writers; i++)
        cast.add("writer", static_cast<uint64_t>(i), write);
    for (int64_t i = 0; i < scenario.fake_writers; i++)
        cast.add("fake", static_cast<uint64_t>(i), write_nothing);
}

} // namespace lab::torture

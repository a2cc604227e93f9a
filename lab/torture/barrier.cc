// SPDX-License-Identifier: MIT OR Apache-2.0
// Counting through rcu_barrier(): several threads queue callbacks; one calls rcu_barrier() and counts those that have
// run. Beside them run callbacks that queue themselves again without end, and short-lived threads that queue callbacks
// and exit.
#include <latch>
#include <memory>

#include "measure/clock.h"
#include "torture/actors.h"

namespace lab::torture
{
namespace
{

constexpr std::size_t members = 4;   // threads that queue callbacks, in each group
constexpr std::size_t most_each = 8; // largest number of callbacks that a member queues in a round
constexpr uint32_t last_round = ~0u;

// A callback that counts its calls.  The counters are not atomic, because rcu_barrier() must order the accesses.
struct Counted {
    TracedHead traced;
    uint32_t queued, ran;
    int64_t takes_ns; // how long the callback runs before it counts the call
};

struct Group {
    std::atomic<uint32_t> round{0}; // incremented to make the members queue callbacks
    std::atomic<uint32_t> ready{0}; // members that have queued their callbacks in this round
    std::array<std::array<Counted, most_each>, members> callbacks{};
    std::vector<TracedHead> treadmills;
};

After count(TracedHead *traced)
{
    auto *counted = reinterpret_cast<Counted *>(traced);
    if (counted->takes_ns > 0)
        pause_ns(counted->takes_ns);
    counted->ran++;
    return After::idle;
}

After run_on(TracedHead *traced)
{
    Context &context = *traced->context;
    if (context.stopping.load(std::memory_order_relaxed))
        return After::idle;
    queue_traced(context, *traced, Way::call, run_on);
    return After::gone;
}

void queue_round(Context &context, std::array<Counted, most_each> &callbacks, uint64_t many, Way way)
{
    for (uint64_t i = 0; i < many; i++) {
        callbacks[i].queued++;
        callbacks[i].takes_ns = many == 1 ? 2'000'000 : 0; // a callback that is queued alone is slow
        queue_traced(context, callbacks[i].traced, way, count);
    }
}

void member(Actor &actor, Group &group, std::size_t number)
{
    uint32_t seen = 0;
    for (;;) {
        actor.set(Doing::paused); // until the caller of the barrier begins the next round
        group.round.wait(seen);
        seen = group.round.load();
        actor.set(Doing::call);
        actor.record.beats.fetch_add(1);
        if (seen == last_round)
            return;
        const uint64_t many = actor.random.one_in(2) ? 1 : actor.random.between(2, most_each);
        const Way way = actor.random.one_in(4) ? Way::call_hurry : Way::call;
        if (actor.random.one_in(4)) {
            std::thread gone([&] { queue_round(actor.context, group.callbacks[number], many, way); });
            gone.join();
        } else {
            queue_round(actor.context, group.callbacks[number], many, way);
        }
        group.ready.fetch_add(1);
        group.ready.notify_all();
    }
}

void check_round(Actor &actor, const Group &group)
{
    for (std::size_t number = 0; number < members; number++) {
        for (const Counted &counted : group.callbacks[number]) {
            if (counted.ran != counted.queued)
                actor.context.findings.report(Check::barrier, "{}: member {}'s callback was queued {} times and ran {}",
                                              actor.record.name.data(), number, counted.queued, counted.ran);
        }
    }
}

void call_barriers(Actor &actor, Group &group)
{
    for (TracedHead &treadmill : group.treadmills)
        queue_traced(actor.context, treadmill, Way::call, run_on);
    while (actor.keep_going()) {
        group.ready.store(0);
        group.round.fetch_add(1);
        group.round.notify_all();
        uint32_t ready = 0;
        while ((ready = group.ready.load()) < members)
            group.ready.wait(ready);
        {
            While waiting(actor, Doing::barrier);
            actor.context.flavour.barrier();
        }
        check_round(actor, group);
        actor.count_update();
        actor.rest(actor.random.one_in(8) ? 5000 : 300);
    }
    group.round.store(last_round);
    group.round.notify_all();
}

} // namespace

void add_barriers(Cast &cast, const Scenario &scenario)
{
    for (int64_t i = 0; i < scenario.barriers; i++) {
        auto group = std::make_shared<Group>();
        if (i == 0)
            group->treadmills = std::vector<TracedHead>(static_cast<std::size_t>(scenario.treadmills));
        cast.keep(group);
        cast.add("barrier", static_cast<uint64_t>(i), [group](Actor &actor) { call_barriers(actor, *group); });
        for (std::size_t number = 0; number < members; number++)
            cast.add("member", static_cast<uint64_t>(i) * members + number,
                     [group, number](Actor &actor) { member(actor, *group, number); });
    }
}

} // namespace lab::torture

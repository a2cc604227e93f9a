// SPDX-License-Identifier: MIT OR Apache-2.0
// Floods: threads that queue callbacks without pause, and each callback again as soon as it has run; and readers in
// tight loops, beside which grace periods must still end.
#include "measure/clock.h"
#include "torture/actors.h"
#include "torture/section.h"

namespace lab::torture
{
namespace
{

// A flood passes if at least laundered_needed callbacks have each run rounds_needed times.
constexpr uint64_t laundered_needed = 100, rounds_needed = 3;
// At least this many grace periods must end while a reader runs a tight loop.
constexpr uint32_t grace_periods_needed = 2;

struct FloodCallback {
    TracedHead traced;
    uint32_t rounds; // calls of this callback so far; plain, since calls do not overlap
};

class Flood
{
  public:
    explicit Flood(Actor &actor) : actor_(actor), callbacks_(actor.context.scenario.flood_callbacks)
    {
    }

    void run()
    {
        const int64_t began = now_ns();
        while (actor_.keep_going()) {
            if (queue_all() == 0)
                actor_.rest(200);
            if (actor_.random.one_in(8))
                rcu_process_callbacks(0);
        }
        const int64_t lasted = now_ns() - began;
        {
            While waiting(actor_, Doing::barrier);
            actor_.context.flavour.barrier();
        }
        if (lasted > actor_.context.patience_ns / 8)
            check_laundered(lasted);
    }

  private:
    void check_laundered(int64_t lasted)
    {
        uint64_t laundered = 0;
        for (const FloodCallback &callback : callbacks_)
            laundered += callback.rounds >= rounds_needed;
        if (laundered < std::min<uint64_t>(laundered_needed, callbacks_.size()))
            actor_.context.findings.report(Check::progress, "{}: only {} of {} callbacks ran {} times in {} ms",
                                           actor_.record.name.data(), laundered, callbacks_.size(), rounds_needed,
                                           lasted / 1'000'000);
    }

    // Queues every idle callback, as fast as possible.
    uint64_t queue_all()
    {
        While calling(actor_, Doing::call);
        uint64_t queued = 0;
        for (FloodCallback &callback : callbacks_) {
            if (actor_.context.stopping.load(std::memory_order_relaxed))
                break;
            if (callback.traced.state.load(std::memory_order_acquire) != CallbackState::idle)
                continue;
            const Way way = actor_.random.one_in(8) ? Way::call_try : Way::call;
            if (!queue_traced(actor_.context, callback.traced, way, on_run))
                break;
            queued++;
            actor_.record.beats.fetch_add(1, std::memory_order_relaxed);
        }
        return queued;
    }

    static After on_run(TracedHead *traced)
    {
        reinterpret_cast<FloodCallback *>(traced)->rounds++;
        return After::idle;
    }

    Actor &actor_;
    std::vector<FloodCallback> callbacks_;
};

// A callback that queues itself again at each call; the number of its calls is the number of grace periods it waited
// for.
struct Propagating {
    TracedHead traced;
    std::atomic<uint32_t> rounds;
};

After propagate(TracedHead *traced)
{
    auto *self = reinterpret_cast<Propagating *>(traced);
    Context &context = *traced->context;
    self->rounds.fetch_add(1);
    if (context.stopping.load(std::memory_order_relaxed))
        return After::idle;
    queue_traced(context, *traced, Way::call, propagate);
    return After::gone;
}

// Reads without pause; a quiescent-state thread among these readers never goes offline.
void read_tightly(Actor &actor, Propagating &propagating)
{
    Context &context = actor.context;
    const bool qsbr = actor.index % 2 == 1;
    rtrcu_register_thread(qsbr ? RTRCU_QSBR : 0);
    const int64_t window_ns = context.patience_ns / 4;
    queue_traced(context, propagating.traced, Way::call, propagate);
    int64_t began = now_ns();
    uint32_t rounds = 0, stutters = 0;
    Reader reader{context, actor.record, actor.random, context.heap.take_seat(), qsbr, false};
    SectionRun section(reader);
    actor.set(Doing::reading);
    while (!context.stopping.load(std::memory_order_relaxed)) {
        actor.record.beats.fetch_add(1, std::memory_order_relaxed);
        for (int i = 0; i < 64; i++) {
            section.run();
            rcu_quiescent_state();
        }
        const uint32_t spoils = context.stutters.load() + context.gaps.load();
        if (spoils != stutters) { // the actors or the whole process paused: start a new window of measurement
            stutters = spoils;
            began = now_ns();
            rounds = propagating.rounds.load();
        }
        if (now_ns() - began < window_ns)
            continue;
        const uint32_t now = propagating.rounds.load();
        if (now - rounds < grace_periods_needed)
            context.findings.report(Check::progress,
                                    "{}: only {} grace periods ended in {} ms beside a reader that reads without pause",
                                    actor.record.name.data(), now - rounds, window_ns / 1'000'000);
        rounds = now;
        began = now_ns();
    }
    rcu_unregister_thread();
}

} // namespace

void add_floods(Cast &cast, const Scenario &scenario)
{
    for (int64_t i = 0; i < scenario.floods; i++) {
        cast.add("flood", static_cast<uint64_t>(i), [](Actor &actor) {
            auto flood = std::make_unique<Flood>(actor);
            flood->run();
        });
    }
    for (int64_t i = 0; i < scenario.progress; i++) {
        auto propagating = std::make_shared<Propagating>(); // its callback may run after the reader has ended
        cast.keep(propagating);
        cast.add("tight", static_cast<uint64_t>(i), [propagating](Actor &actor) { read_tightly(actor, *propagating); });
    }
}

} // namespace lab::torture

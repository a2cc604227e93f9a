// SPDX-License-Identifier: MIT OR Apache-2.0
// Boosting: a reader that is kept off its CPU by a real-time thread delays a grace period.  The library must boost the
// reader, so that the grace period ends while the real-time thread still runs.
#include <thread>

#include "machine/realtime.h"
#include "measure/clock.h"
#include "torture/actors.h"
#include "torture/section.h"
#include "torture/watchdog.h"

namespace lab::torture
{
namespace
{

constexpr int hog_priority = 10, caller_priority = 20;
constexpr int64_t hog_ns = 400'000'000; // well below the 950 ms for which real-time threads may run in each second
constexpr int64_t section_ns = 1'000'000;

// The progress of one round.
struct Round {
    std::atomic<bool> inside{false}, hogging{false}, over{false};
};

// Reads until the thread has used section_ns of CPU time inside its section.  The thread runs as SCHED_OTHER, whatever
// its creator's policy is.
void be_held_up(Round &round, int cpu)
{
    pin_to_cpus({cpu});
    enter_other();
    rcu_read_lock();
    const int64_t end = thread_cpu_ns() + section_ns;
    round.inside.store(true);
    while (thread_cpu_ns() < end)
        rtrcu_cpu_relax();
    rcu_read_unlock();
}

void hog(Round &round, int cpu)
{
    pin_to_cpus({cpu});
    enter_fifo(hog_priority);
    while (!round.inside.load())
        pause_ns(20'000);
    const int64_t end = now_ns() + hog_ns;
    round.hogging.store(true);
    while (now_ns() < end && !round.over.load())
        rtrcu_cpu_relax();
}

void play_round(Actor &actor, int cpu)
{
    Round round;
    const uint32_t gaps_before = actor.context.gaps.load();
    std::thread hogging([&] { hog(round, cpu); });
    std::thread held_up([&] { be_held_up(round, cpu); });
    while (!round.hogging.load())
        pause_ns(20'000);
    const bool expedited = actor.random.one_in(2);
    const int64_t began = now_ns();
    if (expedited)
        actor.context.flavour.synchronize_expedited();
    else
        actor.context.flavour.synchronize();
    const int64_t lasted = now_ns() - began;
    round.over.store(true);
    held_up.join();
    hogging.join();
    actor.count_update();
    pause_ns(2 * watch_gap_ns); // lets the watchdog notice a stop of the process, and leaves the CPU to other threads
    if (lasted > hog_ns / 2 && actor.context.gaps.load() == gaps_before)
        actor.context.findings.report(Check::boost, "{} grace period took {} ms beside a CPU hog of {} ms",
                                      expedited ? "expedited" : "normal", lasted / 1'000'000, hog_ns / 1'000'000);
}

void test_boost(Actor &actor)
{
    const std::vector<int> cpus = cpus_allowed();
    if (cpus.size() < 2 || !enter_fifo(caller_priority)) {
        actor.context.shared.skipped.store(1);
        Findings::say("torture: boosting was not tested: it needs two CPUs and real-time permission\n");
        return;
    }
    pin_to_cpus({cpus.back()});
    while (actor.keep_going()) {
        While waiting(actor, Doing::synchronize);
        play_round(actor, cpus.front());
    }
}

} // namespace

void add_boost(Cast &cast, const Scenario &scenario)
{
    if (scenario.boost_test != 0)
        cast.add("boost", 0, test_boost);
}

} // namespace lab::torture

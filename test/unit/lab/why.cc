// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of `rtrcu latency --why`: causes of late samples from made-up readings, and verdicts.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "latency/why.h"
#include "measure/clock.h"
#include "probe/witness.h"
#include "verdicts.h"

using namespace lab;
using namespace lab::latency;

namespace
{

constexpr int64_t due = 1'000'000;
constexpr LoopTimers timers = {200'000, 10'000, 217'000};

// One turn of the loop, from 40 µs before the due time to 60 µs after it: 50 µs of work, then 40 µs of callbacks.
LoopPhases turn_across_the_due_time()
{
    LoopPhases phases;
    phases.turn_begin_ns = due - 40'000;
    phases.work_begin_ns = due - 35'000;
    phases.work_end_ns = phases.calls_begin_ns = due + 15'000;
    phases.calls_end_ns = due + 55'000;
    phases.turn_end_ns = due + 60'000;
    phases.slept_before = true;
    return phases;
}

LoopPhases turn_before_the_due_time()
{
    LoopPhases phases;
    phases.turn_begin_ns = due - 90'000;
    phases.turn_end_ns = due - 30'000;
    return phases;
}

// The counts at @at_ns of a thread that has run without interruption.
ThreadCounts counts_at(int64_t at_ns)
{
    ThreadCounts counts;
    counts.at_ns = at_ns;
    counts.cpu_ns = counts.occupied_ns = at_ns;
    return counts;
}

LateSample sample_of(const ThreadCounts &before, const ThreadCounts &after, const LoopPhases &phases,
                     int64_t late_ns = 65'000, uint32_t own_ns = 30'000)
{
    ProbeSample sample{static_cast<uint32_t>(late_ns), 0, 0, 0, own_ns};
    return make_late_sample(before, after, phases, timers, sample, due, due + late_ns);
}

uint32_t share(const Shares &shares, Cause cause)
{
    return shares[static_cast<std::size_t>(cause)];
}

const UsualTimes usual = {5'000, 1'000, 50, 6'000, 40'000};

} // namespace

TEST(LateSample, LoopRoundAcrossTheDueTimeIsSplitIntoWorkAndCalls)
{
    const LateSample late = sample_of(counts_at(due - 100'000), counts_at(due + 66'000), turn_across_the_due_time());
    EXPECT_FALSE(late.asleep);
    EXPECT_EQ(late.work_ns, 15'000u);
    EXPECT_EQ(late.calls_ns, 40'000u);
    EXPECT_EQ(late.own_ns, 30'000u);
    EXPECT_EQ(late.stolen_ns + late.waited_ns + late.blocked_ns + late.faults, 0u);
}

TEST(LateSample, LoopAsleepAtTheDueTimeHasNoWorkOrCallTime)
{
    const LateSample late = sample_of(counts_at(due - 30'000), counts_at(due + 66'000), turn_before_the_due_time());
    EXPECT_TRUE(late.asleep);
    EXPECT_EQ(late.work_ns + late.calls_ns, 0u);
}

TEST(LateSample, UncountedTimeOnACpuIsStolen)
{
    ThreadCounts after = counts_at(due + 66'000);
    after.cpu_ns -= 20'000;
    EXPECT_EQ(sample_of(counts_at(due - 100'000), after, turn_across_the_due_time()).stolen_ns, 20'000u);
    after.cpu_ns += 21'000;
    EXPECT_EQ(sample_of(counts_at(due - 100'000), after, turn_across_the_due_time()).stolen_ns, 0u)
        << "more CPU time than elapsed counts as none";
}

TEST(LateSample, OnlyASleepInsideALoopRoundCountsAsBlocked)
{
    ThreadCounts after = counts_at(due + 66'000);
    // The thread slept for 60 µs before the turn, and was off the CPU for 25 µs inside it.
    after.occupied_ns = after.cpu_ns = due + 66'000 - 85'000;
    after.voluntary = 1;
    const ThreadCounts before = counts_at(due - 100'000);
    EXPECT_EQ(sample_of(before, after, turn_across_the_due_time()).blocked_ns, 0u);
    after.voluntary = 2;
    EXPECT_EQ(sample_of(before, after, turn_across_the_due_time()).blocked_ns, 25'000u);
}

TEST(LateSample, TimerExpiriesAreCountedExceptTheWakeUp)
{
    // The work expires at 1,095,000: 10,000 + 5 x 217,000.
    const ThreadCounts before = counts_at(due - 30'000), after = counts_at(due + 450'000);
    EXPECT_EQ(sample_of(before, after, turn_across_the_due_time(), 94'000).interrupts, 1u);
    EXPECT_EQ(sample_of(before, after, turn_across_the_due_time(), 95'000).interrupts, 2u);
    EXPECT_EQ(sample_of(before, after, turn_across_the_due_time(), 400'000).interrupts, 5u);
    EXPECT_EQ(sample_of(before, after, turn_before_the_due_time(), 95'000).interrupts, 1u);
}

TEST(LateWitness, WitnessNeedsAReadingOfTheSameRound)
{
    VariantRecord record(10, 10);
    LateWitness witness(50'000, record);
    const ProbeSample late{60'000, 0, 0, 0, 0}, in_time{40'000, 0, 0, 0, 0};
    const int64_t soon = now_ns() + 3'600'000'000'000;
    witness.sample(late, soon, soon + 60'000, timers);
    EXPECT_EQ(record.late.count(), 0u) << "no earlier reading exists";
    witness.turn_begins(now_ns());
    witness.turn_ends(soon, true);
    witness.sample(in_time, soon, soon + 40'000, timers);
    EXPECT_EQ(record.late.count(), 0u);
    EXPECT_EQ(witness.readings(), 1u);
    witness.sample(late, soon, soon + 60'000, timers);
    ASSERT_EQ(record.late.count(), 1u);
    EXPECT_TRUE(record.late[0].asleep);
    EXPECT_EQ(record.wakes.count(), 2u) << "both samples found the loop asleep, late or not";
    EXPECT_EQ(witness.readings(), 2u);
    witness.round_begins();
    witness.sample(late, soon, soon + 60'000, timers);
    EXPECT_EQ(record.late.count(), 1u) << "the reading was from another round";
}

TEST(Explain, SharesAddUpToTheLateness)
{
    LateSample late{};
    late.late_ns = 200'000;
    late.stolen_ns = 20'000;
    late.waited_ns = 15'000;
    late.involuntary = 1;
    late.blocked_ns = 10'000;
    late.faults = 3;
    late.own_ns = 60'000;
    late.calls_ns = 70'000;
    late.work_ns = 30'000;
    late.interrupts = 2;
    const Shares shares = explain(late, usual);
    EXPECT_EQ(share(shares, Cause::stolen), 20'000u);
    EXPECT_EQ(share(shares, Cause::switches), 15'000u);
    EXPECT_EQ(share(shares, Cause::waiting), 0u);
    EXPECT_EQ(share(shares, Cause::lock), 10'000u);
    EXPECT_EQ(share(shares, Cause::faults), 3'000u);
    EXPECT_EQ(share(shares, Cause::callbacks), 60'000u);
    EXPECT_EQ(share(shares, Cause::interrupts), 10'000u);
    EXPECT_EQ(share(shares, Cause::library), 10'000u);
    EXPECT_EQ(share(shares, Cause::work), 30'000u);
    EXPECT_EQ(share(shares, Cause::not_explained), 42'000u);
    EXPECT_EQ(main_cause(shares), Cause::callbacks);
}

TEST(Explain, StolenTimeIsNotAttributedToCallbacks)
{
    LateSample late{};
    late.late_ns = late.own_ns = 100'000;
    late.stolen_ns = 70'000;
    EXPECT_EQ(share(explain(late, usual), Cause::callbacks), 30'000u);
}

TEST(Explain, WaitWithoutAPreemptionIsWaiting)
{
    LateSample late{};
    late.late_ns = 100'000;
    late.waited_ns = 90'000;
    EXPECT_EQ(share(explain(late, usual), Cause::waiting), 90'000u);
}

TEST(Explain, CallbacksOfOtherThreadsExplainPartOfAWait)
{
    LateSample late{};
    late.late_ns = 100'000;
    late.waited_ns = 90'000;
    late.callbacks_elsewhere = 1'000;
    const Shares shares = explain(late, usual);
    EXPECT_EQ(share(shares, Cause::callbacks_elsewhere), 50'000u);
    EXPECT_EQ(share(shares, Cause::waiting), 40'000u);
}

TEST(Explain, BlockedTimeWithAMajorFaultCountsAsFaults)
{
    LateSample late{};
    late.late_ns = 100'000;
    late.blocked_ns = 90'000;
    late.major_faults = 1;
    const Shares shares = explain(late, usual);
    EXPECT_EQ(share(shares, Cause::faults), 90'000u);
    EXPECT_EQ(share(shares, Cause::lock), 0u);
}

TEST(Explain, WakeUpOrWorkExplainsAtMostTwiceItsUsualTime)
{
    LateSample asleep{};
    asleep.late_ns = 500'000;
    asleep.asleep = true;
    EXPECT_EQ(share(explain(asleep, usual), Cause::wake_up), 12'000u);
    EXPECT_EQ(share(explain(asleep, usual), Cause::not_explained), 488'000u);
    LateSample working{};
    working.late_ns = working.work_ns = 500'000;
    EXPECT_EQ(share(explain(working, usual), Cause::work), 80'000u);
    EXPECT_EQ(main_cause(explain(working, usual)), Cause::not_explained);
}

TEST(ThreadCounters, FaultsAndSleepsOfTheThreadAreCounted)
{
    const ThreadCounters counters;
    const ThreadCounts before = counters.read();
    constexpr std::size_t pages = 16;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void *memory = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    madvise(memory, pages * page, MADV_NOHUGEPAGE);
    for (std::size_t i = 0; i < pages; i++)
        static_cast<volatile char *>(memory)[i * page] = 1;
    pause_ns(100'000);
    const ThreadCounts after = counters.read();
    munmap(memory, pages * page);
    EXPECT_GE(after.faults - before.faults, pages);
    EXPECT_GE(after.voluntary - before.voluntary, 1u);
    EXPECT_GT(after.at_ns, before.at_ns);
    EXPECT_GT(after.cpu_ns, before.cpu_ns);
    if (counters.has_task_clock()) {
        EXPECT_LT(after.occupied_ns - before.occupied_ns, after.at_ns - before.at_ns) << "the thread slept";
    }
}

TEST(CallbackMeterElsewhere, OtherThreadsCallbacksAreCountedOnlyOnTheWatchedCpu)
{
    CallbackMeter meter;
    const int cpu = sched_getcpu();
    auto run = [&] {
        std::thread([&] {
            cpu_set_t set;
            CPU_ZERO(&set);
            CPU_SET(static_cast<std::size_t>(cpu), &set);
            ASSERT_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
            for (int i = 0; i < 8; i++)
                meter.callback_begins();
        }).join();
    };
    run();
    EXPECT_EQ(meter.invoked_on_watched_cpu(), 0u) << "no CPU is watched";
    meter.watch_cpu(cpu);
    run();
    EXPECT_EQ(meter.invoked_on_watched_cpu(), 8u);
    meter.watch_cpu(cpu + 1);
    run();
    EXPECT_EQ(meter.invoked_on_watched_cpu(), 8u);
}

namespace
{

Shares mainly(Cause cause, uint32_t ns = 60'000)
{
    Shares shares{};
    shares[static_cast<std::size_t>(cause)] = ns;
    return shares;
}

LateSummary variant_of(const char *workload, const char *policy, std::size_t late, Cause cause)
{
    LateSummary variant;
    variant.workload = workload;
    variant.policy = policy;
    variant.label = std::string(workload) + " " + policy;
    variant.samples = 100'000;
    variant.late.assign(late, mainly(cause, 300'000));
    variant.others = cause == Cause::callbacks ? 0 : late;
    variant.several_interrupts = variant.others;
    variant.readings = 50'000;
    variant.readings_ns = variant.readings * 2'000;
    variant.wall_ns = 10'000'000'000;
    return variant;
}

const char *const ours = "samples is late mainly because of callbacks",
                  *const stock = "main cause of most samples that are later than 250",
                  *const consecutive = "consecutive timer interrupts", *const explained = "the causes explain",
                  *const instrument = "the measurement itself takes";

} // namespace

TEST(WhyChecks, AllChecksHoldForAGoodRun)
{
    for (const Verdict &verdict : judge_why(
             {variant_of("route", "inline", 40, Cause::work), variant_of("flood", "unbounded", 40, Cause::callbacks)},
             true))
        EXPECT_EQ(verdict.outcome, Outcome::held) << verdict.claim << ": " << verdict.figures;
}

TEST(WhyChecks, QuickRunIsNotJudged)
{
    for (const Verdict &verdict : judge_why({variant_of("route", "inline", 40, Cause::callbacks),
                                             variant_of("flood", "unbounded", 40, Cause::not_explained)},
                                            false))
        EXPECT_EQ(verdict.outcome, Outcome::not_judged) << verdict.claim;
}

TEST(WhyChecks, CallbacksThatDelayMoreThanOneInTenThousandSamplesFail)
{
    EXPECT_EQ(outcome_of(judge_why({variant_of("route", "inline", 10, Cause::callbacks)}, true), ours), Outcome::held);
    EXPECT_EQ(outcome_of(judge_why({variant_of("route", "inline", 11, Cause::callbacks)}, true), ours),
              Outcome::failed);
    EXPECT_EQ(outcome_of(judge_why({variant_of("route", "daemon", 11, Cause::callbacks)}, true), ours),
              Outcome::failed);
    LateSummary few = variant_of("route", "inline", 11, Cause::callbacks);
    few.samples = 99'999;
    const Verdicts verdicts = judge_why({few}, true);
    EXPECT_EQ(outcome_of(verdicts, ours), Outcome::not_judged);
    EXPECT_EQ(verdicts[0].figures, "99,999 samples of the 100,000 that this verdict needs");
}

TEST(WhyChecks, FloodLateForOtherCausesIsNotReproduced)
{
    LateSummary flood = variant_of("flood", "unbounded", 40, Cause::callbacks);
    std::fill_n(flood.late.begin(), 20, mainly(Cause::stolen, 300'000));
    EXPECT_EQ(outcome_of(judge_why({flood}, true), stock), Outcome::not_reproduced);
    flood.late.insert(flood.late.end(), 100, mainly(Cause::work, 250'000));
    std::fill_n(flood.late.begin(), 1, mainly(Cause::callbacks, 300'000));
    EXPECT_EQ(outcome_of(judge_why({flood}, true), stock), Outcome::held)
        << "samples no later than the goal do not count";
    EXPECT_EQ(outcome_of(judge_why({variant_of("flood", "unbounded", 29, Cause::callbacks)}, true), stock),
              Outcome::not_judged);
}

TEST(WhyChecks, ConsecutiveInterruptsMustExplainMostSamples)
{
    LateSummary variant = variant_of("route", "none", 40, Cause::work);
    variant.several_interrupts = 20;
    EXPECT_EQ(outcome_of(judge_why({variant}, true), consecutive), Outcome::not_reproduced);
    variant.several_interrupts = 21;
    EXPECT_EQ(outcome_of(judge_why({variant}, true), consecutive), Outcome::held);
    variant.others = 29;
    EXPECT_EQ(outcome_of(judge_why({variant}, true), consecutive), Outcome::not_judged);
}

TEST(WhyChecks, UnexplainedTenthIsNotReproduced)
{
    LateSummary variant = variant_of("route", "none", 40, Cause::work);
    std::fill_n(variant.late.begin(), 5, mainly(Cause::not_explained, 300'000));
    EXPECT_EQ(outcome_of(judge_why({variant}, true), explained), Outcome::not_reproduced);
    variant.late[0] = mainly(Cause::waiting, 300'000);
    EXPECT_EQ(outcome_of(judge_why({variant}, true), explained), Outcome::held);
    EXPECT_EQ(outcome_of(judge_why({variant_of("route", "none", 29, Cause::work)}, true), explained),
              Outcome::not_judged);
}

TEST(WhyChecks, CostlyReadingsFailTheCheck)
{
    LateSummary variant = variant_of("route", "none", 40, Cause::work);
    variant.readings_ns = variant.wall_ns / 20;
    EXPECT_EQ(outcome_of(judge_why({variant}, true), instrument), Outcome::held);
    variant.readings_ns += variant.wall_ns / 1000;
    EXPECT_EQ(outcome_of(judge_why({variant}, true), instrument), Outcome::failed);
    variant.readings = 0;
    EXPECT_EQ(outcome_of(judge_why({variant}, true), instrument), Outcome::not_judged);
}

TEST(WhyRows, UnexplainedLatenessAlwaysHasARow)
{
    LateSummary variant = variant_of("route", "inline", 0, Cause::work);
    for (const uint32_t ns : {1'999u, 2'000u, 70'000u, 80'000u})
        variant.late.push_back(mainly(Cause::stolen, ns));
    const std::vector<WhyRow> rows = make_why_rows({variant});
    ASSERT_EQ(rows.size(), 2u);
    const Json stolen = to_json(rows[0]);
    EXPECT_EQ(stolen["cause"], "stolen time");
    EXPECT_EQ(stolen["late"], 4);
    EXPECT_EQ(stolen["late_with_cause"], 3) << "a share below 2 µs does not count";
    EXPECT_EQ(stolen["late_mainly"], 4);
    EXPECT_DOUBLE_EQ(stolen["share_us_p50"].get<double>(), 70);
    EXPECT_DOUBLE_EQ(stolen["share_us_max"].get<double>(), 80);
    const Json rest = to_json(rows[1]);
    EXPECT_EQ(rest["cause"], "not explained");
    EXPECT_EQ(rest["late_with_cause"], 0);
    EXPECT_TRUE(rest["share_us_p50"].is_null());
}

TEST(WhyRows, SummaryExplainsEachLateSampleOfARecord)
{
    VariantRecord record(100, 100);
    record.sum().fifo = true;
    record.sum().fault_ns = 1'000;
    record.wakes.push(6'000);
    record.loop.push({60'000, 0, 0, 0, 0});
    LateSample late{};
    late.late_ns = 60'000;
    late.interrupts = 2;
    late.work_ns = 45'000;
    record.late.push(late);
    const LateSummary summary = summarize({"route", find_policy("inline"), 0, true, 1}, record, 5'000, 40'000);
    ASSERT_EQ(summary.late.size(), 1u);
    EXPECT_EQ(share(summary.late[0], Cause::interrupts), 10'000u);
    EXPECT_EQ(share(summary.late[0], Cause::work), 45'000u);
    EXPECT_EQ(share(summary.late[0], Cause::not_explained), 5'000u);
    EXPECT_EQ(summary.others, 1u);
    EXPECT_EQ(summary.several_interrupts, 1u);
}

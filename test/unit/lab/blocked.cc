// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of `rtrcu blocked`: requests and results as text, its plan, its rows, and its verdicts.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "blocked/checks.h"
#include "blocked/plan.h"
#include "blocked/rows.h"
#include "verdicts.h"

using namespace lab;
using namespace lab::blocked;

static LockUse use(uint64_t acquisitions, double hold_ns, double hold_ns_max, double wait_ns)
{
    return {acquisitions, hold_ns, hold_ns_max, wait_ns, wait_ns, {acquisitions}};
}

// A run at `rate` iterations per second, with the given numbers of lock acquisitions by readers in its two phases.
static RunResult run_of(uint64_t rate, uint64_t acquisitions, uint64_t acquisitions_without_gp)
{
    RunResult run;
    for (Phase *phase : {&run.throughput, &run.metered, &run.without_gp, &run.undisturbed}) {
        phase->seconds = 1;
        phase->iterations = rate;
        phase->preemptor_cpu_s = 1;
    }
    const double each_ns = 100;
    run.metered.readers = use(acquisitions, each_ns * static_cast<double>(acquisitions), 5e6, 4e8);
    run.metered.others = use(10, 1000, 100, 0);
    const auto count = static_cast<double>(acquisitions_without_gp);
    run.without_gp.readers = use(acquisitions_without_gp, each_ns * count, 1e6, each_ns * count);
    run.undisturbed.readers = use(acquisitions, 50 * static_cast<double>(acquisitions), 1000, 0);
    run.metered.promotions = 100;
    run.metered.promotion_ns = 3000;
    run.gp_latency_ns = std::vector<uint64_t>(600, 2'000'000);
    run.wake_lateness_ns = std::vector<uint64_t>(600, 50'000);
    return run;
}

// A plan with results for which every verdict is `held`; a test then changes values.
static Plan good_plan()
{
    RunRequest request = usual_request();
    request.cpus = {0, 1};
    Plan plan = make_plan(2, 0, request);
    for (Cell &cell : plan.cells) {
        const bool percpu = are_per_cpu(cell.lists);
        const uint64_t rate = percpu ? 1'500'000 : cell.lists == Lists::none ? 5'000'000 : 1'000'000;
        RunResult run = run_of(rate, percpu ? 1'000 : 2'000'000, percpu ? 100 : 2'000'000);
        if (percpu) // the mean hold time of all holders is 10 ns, and with other kinds of lists 100 ns
            run.metered.readers.hold_ns = 10 * static_cast<double>(run.metered.readers.acquisitions) - 1000;
        cell.runs.assign(5, run);
    }
    for (OrderCell &cell : plan.orders)
        cell.result.rounds = cell.request.rounds;
    for (CrowdCell &cell : plan.crowds) {
        const auto tasks = static_cast<double>(cell.request.tasks);
        cell.result.bytes_each = 64;
        cell.result.promotions = cell.request.tasks;
        cell.result.promotion_ns = tasks * 10;
        cell.result.begin_ns = 20'000 + tasks * 10;
        cell.result.end_ns = 10'000;
    }
    return plan;
}

static Outcome outcome_of(const Plan &plan, const std::string &part, bool judge_times = true)
{
    return outcome_of(judge(plan, judge_times), part);
}

static Cell &cell_of(Plan &plan, Lists lists)
{
    return const_cast<Cell &>(*find_cell(plan, lists));
}

TEST(BlockedExchange, RequestAndResultAreUnchangedByConversionToText)
{
    RunRequest request = usual_request();
    request.lists = Lists::node_spin;
    request.cpus = {1, 3};
    const std::string text = to_text(request);
    EXPECT_NE(text.find("node-spin"), std::string::npos);
    const auto copy = from_text<RunRequest>(text);
    EXPECT_EQ(copy.lists, Lists::node_spin);
    EXPECT_EQ(copy.cpus, request.cpus);
    EXPECT_EQ(copy.burst_ns, request.burst_ns);
    const RunResult run = run_of(1000, 5, 6);
    const auto result = from_text<RunResult>(to_text(run));
    EXPECT_EQ(result.metered.readers.acquisitions, 5u);
    EXPECT_EQ(result.without_gp.readers.acquisitions, 6u);
    EXPECT_EQ(result.gp_latency_ns, run.gp_latency_ns);
}

TEST(BlockedPlan, PlanHasTheDocumentedSizes)
{
    const Plan plan = make_plan(100, 0, usual_request());
    EXPECT_EQ(plan.request.readers, 64u);
    EXPECT_EQ(plan.request.preemptors, 32u);
    for (Lists lists : {Lists::node_spin, Lists::percpu_spin, Lists::node, Lists::percpu, Lists::none})
        EXPECT_NE(find_cell(plan, lists), nullptr) << name_of(lists);
    EXPECT_LE(seconds_a_run(plan.request), 0.5);
    EXPECT_EQ(total_runs(plan), 450);
    EXPECT_EQ(plan.orders.size(), 4u);
    EXPECT_EQ(plan.crowds.back().request.tasks, 100'000u);
}

TEST(BlockedPlan, SecondsOptionSetsTheTotalTimeOfAllRuns)
{
    const Plan usual = make_plan(10, 0, usual_request());
    const Plan longer = make_plan(10, 60, usual_request());
    const Plan shortest = make_plan(10, 0.5, usual_request());
    EXPECT_NEAR(seconds_a_run(longer.request) * total_runs(longer), 60, 1);
    EXPECT_LT(shortest.request.throughput_ns, usual.request.throughput_ns);
    EXPECT_GT(shortest.request.throughput_ns, 0);
}

TEST(BlockedRows, RowHasTheDocumentedKeys)
{
    Json found;
    for (const ListsRow &row : lists_rows(good_plan()))
        if (row.lists == "percpu")
            found = to_json(row);
    for (const char *key :
         {"lists", "readers", "carriers", "preemptors", "runs", "iterations_per_s_mean", "iterations_per_s_stddev",
          "lock_hold_us_mean", "lock_hold_us_max", "lock_hold_ns_per_iteration", "lock_acquisitions_per_iteration",
          "promotions", "gp_latency_us_p50", "gp_latency_us_p99"})
        EXPECT_TRUE(found.contains(key)) << key;
    EXPECT_EQ(found.at("runs"), 5);
    EXPECT_EQ(found.at("promotions"), 500);
    EXPECT_EQ(found.at("gp_latency_us_p99"), 2000);
}

TEST(BlockedRows, EachFigureIsTakenFromItsPhase)
{
    Plan plan = good_plan();
    Cell &cell = cell_of(plan, Lists::percpu);
    cell.runs.assign(2, run_of(1'500'000, 1'000, 100));
    cell.runs[1].throughput.iterations = 1'700'000;
    const ListsRow row = make_row(cell, 2, 2);
    EXPECT_NEAR(*row.lock_hold_ns_per_iteration, (1'000 * 100 + 1'000) / 1.5e6, 1e-9)
        << "holds by readers and by other threads are summed";
    EXPECT_NEAR(*row.promotions_per_acquisition, 100 / 1010.0, 1e-9);
    EXPECT_DOUBLE_EQ(*row.iterations_per_s_mean, 1'600'000);
    EXPECT_NEAR(*row.iterations_per_s_stddev, 141'421, 1);
    EXPECT_DOUBLE_EQ(*row.preempted_pct, 50);
    EXPECT_NEAR(*row.lock_acquisitions_per_iteration, 100 / 1.5e6, 1e-9)
        << "taken from the phase without grace periods";
    EXPECT_DOUBLE_EQ(*row.reader_hold_us_mean, 0.1);
    EXPECT_DOUBLE_EQ(*row.lock_hold_us_max, 5000);
    EXPECT_DOUBLE_EQ(*row.promotion_ns, 30);
    EXPECT_NEAR(*row.reader_lock_pct, 100 * (1'000 * 100 + 4e8) / 2e9, 1e-6);
}

TEST(BlockedRows, OneRunGivesNoTailAndNoStandardDeviation)
{
    Plan plan = good_plan();
    Cell &cell = cell_of(plan, Lists::node);
    EXPECT_TRUE(make_row(cell, 2, 2).gp_latency_us_p99);
    cell.runs.resize(1);
    EXPECT_FALSE(make_row(cell, 2, 2).gp_latency_us_p99);
    EXPECT_FALSE(make_row(cell, 2, 2).iterations_per_s_stddev) << "one run has no standard deviation";
}

TEST(BlockedRows, PublishedFiguresStandAboveMeasuredOnes)
{
    choose_table_width(0);
    const Plan plan = good_plan();
    const auto line_of = [](const std::string &table, const std::string &name) {
        const std::size_t from = table.find(name);
        return from == std::string::npos ? "" : table.substr(from, table.find('\n', from) - from);
    };
    const std::string rates = lists_table(plan, iterations), lock = lists_table(plan, leaf_lock);
    EXPECT_NE(line_of(rates, "RFC 2026: Baseline").find("66,980"), std::string::npos) << rates;
    EXPECT_NE(line_of(rates, "RFC 2026: Optimized").find("97,719"), std::string::npos) << rates;
    EXPECT_NE(line_of(lock, "RFC 2026: Baseline").find("1,069"), std::string::npos) << lock;
    EXPECT_NE(line_of(lock, "RFC 2026: Optimized").find("about 0"), std::string::npos) << lock;
    EXPECT_LT(rates.find("RFC 2026: Optimized"), rates.find("\nnode-spin ")) << rates;
}

TEST(BlockedChecks, AllVerdictsHoldForAGoodPlan)
{
    for (const Verdict &verdict : judge(good_plan(), true))
        EXPECT_EQ(verdict.outcome, Outcome::held) << verdict.claim << ": " << verdict.figures;
}

TEST(BlockedChecks, QuickRunJudgesCountsAndNotTimes)
{
    Plan plan = good_plan();
    for (RunResult &run : cell_of(plan, Lists::percpu).runs)
        run.throughput.iterations = 1;
    EXPECT_EQ(outcome_of(plan, "percpu has at least 46 %", false), Outcome::not_judged);
    EXPECT_EQ(outcome_of(plan, "percpu: at most 0.01", false), Outcome::held);
}

TEST(BlockedChecks, TimeBeyondItsBarFailsItsCheck)
{
    Plan plan = good_plan();
    for (RunResult &run : cell_of(plan, Lists::percpu).runs)
        run.throughput.iterations = 1'459'999;
    EXPECT_EQ(outcome_of(plan, "preemption, percpu has at least 46 %"), Outcome::failed);
    plan = good_plan();
    for (RunResult &run : cell_of(plan, Lists::percpu).runs)
        run.without_gp.readers.wait_ns = 1e8;
    EXPECT_EQ(outcome_of(plan, "a hundredth of node-spin's"), Outcome::failed);
    for (RunResult &run : cell_of(plan, Lists::percpu).runs)
        run.without_gp.readers.wait_ns = &run == &cell_of(plan, Lists::percpu).runs[0] ? 5e8 : 0;
    EXPECT_EQ(outcome_of(plan, "a hundredth of node-spin's"), Outcome::not_judged)
        << "one run has the whole wait time, so the interval is wide";
    plan = good_plan();
    for (RunResult &run : cell_of(plan, Lists::node_spin).runs)
        run.metered.readers.hold_ns_max = 4'000;
    EXPECT_EQ(outcome_of(plan, "100 times as long"), Outcome::not_reproduced);
    plan = good_plan();
    plan.crowds.back().result.begin_ns *= 2;
    EXPECT_EQ(outcome_of(plan, "time of their promotion"), Outcome::failed);
    plan.crowds.back().result.spread_ns = 1e6;
    EXPECT_EQ(outcome_of(plan, "time of their promotion"), Outcome::not_judged)
        << "the spread of the repetitions is larger than the difference";
}

TEST(BlockedChecks, MissedPublishedGainIsNotAFailure)
{
    Plan plan = good_plan();
    for (RunResult &run : cell_of(plan, Lists::percpu_spin).runs)
        run.throughput.iterations = 1'459'999;
    EXPECT_EQ(outcome_of(plan, "the document's +46 %"), Outcome::not_reproduced);
    EXPECT_FALSE(any_failed(judge(plan, true)));
}

TEST(BlockedChecks, GainIsJudgedAgainstItsSpreadOverFiveRuns)
{
    const char *const claim = "preemption, percpu has at least 46 %";
    Plan plan = good_plan();
    std::vector<RunResult> &runs = cell_of(plan, Lists::node_spin).runs;
    for (std::size_t i = 0; i < runs.size(); i++)
        runs[i].throughput.iterations = i < 2 ? 2'000'000 : 500'000;
    EXPECT_EQ(outcome_of(plan, claim), Outcome::not_reproduced) << "the ratio varies from 0.75 to 3";
    for (std::size_t i = 0; i < runs.size(); i++)
        runs[i].throughput.iterations = i < 2 ? 1'200'000 : 500'000;
    EXPECT_EQ(outcome_of(plan, claim), Outcome::not_judged) << "the ratio varies from 1.25 to 3";
    runs.resize(4);
    EXPECT_EQ(outcome_of(plan, claim), Outcome::not_judged) << "too few runs";
    // Seven verdicts have too few runs: two gains over node-spin, four hold times, and the readers' time in the lock.
    std::size_t named = 0;
    for (const Verdict &verdict : judge(plan, true))
        named += verdict.figures.find("4 rounds of the 5 that a spread needs") != std::string::npos;
    EXPECT_EQ(named, 7u);
}

TEST(BlockedChecks, PercpuIsComparedWithPercpuSpin)
{
    const char *const claim = "keeps at least 90 % of percpu-spin's";
    Plan plan = good_plan();
    std::vector<RunResult> &runs = cell_of(plan, Lists::percpu).runs;
    for (RunResult &run : runs)
        run.throughput.iterations = 1'340'000;
    EXPECT_EQ(outcome_of(plan, claim), Outcome::failed);
    runs[0].throughput.iterations = runs[1].throughput.iterations = 1'500'000;
    EXPECT_EQ(outcome_of(plan, claim), Outcome::not_judged);
}

TEST(BlockedChecks, HoldTimeIsJudgedForEachIteration)
{
    Plan plan = good_plan();
    for (Lists lists : {Lists::percpu_spin, Lists::percpu})
        for (RunResult &run : cell_of(plan, lists).runs)
            run.metered.others.hold_ns = 1.5e6 * 21; // 21 ns per iteration, above a tenth of node-spin's 200
    EXPECT_EQ(outcome_of(plan, "an iteration of percpu holds"), Outcome::failed);
    EXPECT_EQ(outcome_of(plan, "an iteration of percpu-spin holds"), Outcome::not_reproduced);
    EXPECT_EQ(outcome_of(plan, "acquisition of percpu is a tenth"), Outcome::not_reproduced);
    EXPECT_EQ(outcome_of(plan, "acquisition of percpu-spin is a tenth"), Outcome::not_reproduced);
    std::vector<RunResult> &runs = cell_of(plan, Lists::percpu).runs;
    for (std::size_t i = 0; i < runs.size(); i++) // one run has the whole hold time, so the interval is wide
        runs[i].metered.others.hold_ns = i == 0 ? 5 * 1.5e6 * 21 : 0;
    EXPECT_EQ(outcome_of(plan, "an iteration of percpu holds"), Outcome::not_judged);
}

TEST(BlockedRows, RisingMeanHoldTimeIsExplainedByRareAcquisitions)
{
    Plan plan = good_plan();
    const auto why = [&plan] {
        const std::vector<ListsRow> rows = lists_rows(plan);
        return why_mean_hold_rises(*find_row(rows, Lists::node_spin), *find_row(rows, Lists::percpu));
    };
    EXPECT_EQ(why(), "") << "the mean falls, so there is nothing to explain";
    for (RunResult &run : cell_of(plan, Lists::percpu).runs)
        run.metered.others.hold_ns = 1e6;
    EXPECT_NE(why().find("acquisitions became rare"), std::string::npos) << why();
    for (RunResult &run : cell_of(plan, Lists::percpu).runs)
        run.metered.others.hold_ns = 1e9;
    EXPECT_NE(why().find("did not become rare"), std::string::npos) << "the hold time per iteration is longer";
    for (RunResult &run : cell_of(plan, Lists::percpu).runs)
        run.metered.others.hold_ns = 1e6;
    for (RunResult &run : cell_of(plan, Lists::percpu).runs)
        run.metered.promotions = 0;
    EXPECT_NE(why().find("did not become rare"), std::string::npos) << why();
    for (RunResult &run : cell_of(plan, Lists::percpu).runs) {
        run.metered.promotions = 100;
        run.metered.readers = use(2'000'000, 4e9, 5e6, 0);
    }
    EXPECT_NE(why().find("did not become rare"), std::string::npos) << why();
}

TEST(BlockedChecks, CountBeyondItsBarFailsItsCheck)
{
    Plan plan = good_plan();
    for (Lists lists : {Lists::percpu, Lists::percpu_spin}) {
        cell_of(plan, lists).runs[0].without_gp.readers.acquisitions = 100'000;
        EXPECT_EQ(outcome_of(plan, name_of(lists) + ": at most 0.01", false),
                  lists == Lists::percpu ? Outcome::failed : Outcome::not_reproduced);
    }
    for (uint64_t OrderResult::*count :
         {&OrderResult::ended_early, &OrderResult::not_ended, &OrderResult::older_not_waited}) {
        plan = good_plan();
        plan.orders.back().result.*count = 1;
        EXPECT_EQ(outcome_of(plan, "percpu: a grace period ends", false), Outcome::failed);
    }
    plan = good_plan();
    plan.orders.back().result.later_waited_for = 1;
    EXPECT_EQ(outcome_of(plan, "percpu: no grace period waits", false), Outcome::failed);
    plan = good_plan();
    plan.crowds.back().result.bytes_each = 129;
    EXPECT_EQ(outcome_of(plan, "128 bytes", false), Outcome::failed);
    plan = good_plan();
    cell_of(plan, Lists::node).runs[0].errors = 1;
    EXPECT_EQ(outcome_of(plan, "no reader saw", false), Outcome::failed);
    plan = good_plan();
    cell_of(plan, Lists::node).error = "ended";
    EXPECT_EQ(outcome_of(plan, "cut short", false), Outcome::failed);
}

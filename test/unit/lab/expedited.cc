// SPDX-License-Identifier: MIT OR Apache-2.0
// The expedited experiment: figures of the tables, rows, verdicts that can fail, and the reader's check of what it
// reads.
#include <csignal>
#include <sched.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "expedited/checks.h"
#include "expedited/outside.h"
#include "expedited/rows.h"
#include "expedited/summary.h"

using namespace lab;
using namespace lab::expedited;

TEST(ExpeditedSummary, Quartiles)
{
    const Summary summary = summarise({{4, 1}, {}, {3, 2, 10}});
    EXPECT_EQ(summary.experiments, 2u) << "one had no sample";
    EXPECT_EQ(summary.count, 5u);
    EXPECT_EQ(summary.min_ns, 1);
    EXPECT_EQ(summary.q1_ns, 2);
    EXPECT_EQ(summary.median_ns, 3);
    EXPECT_EQ(summary.q3_ns, 4);
    EXPECT_EQ(summary.max_ns, 10);
    EXPECT_EQ(summary.avg_ns, 4);
    EXPECT_NEAR(*summary.stddev_ns, 3.1623, 1e-4);
}

TEST(ExpeditedSummary, Ranges)
{
    const Summary summary = summarise({{4, 1}, {3, 2, 10}});
    EXPECT_EQ(summary.largest_max_ns, 10);
    EXPECT_EQ(summary.smallest_max_ns, 4);
    EXPECT_EQ(summary.range_of_max_ns, 6);
    EXPECT_EQ(summary.largest_min_ns, 2);
    EXPECT_EQ(summary.smallest_min_ns, 1);
    EXPECT_EQ(summary.range_of_min_ns, 1);
}

TEST(ExpeditedSummary, NothingGivesNothing)
{
    const Summary summary = summarise({{}, {}});
    EXPECT_EQ(summary.count, 0u);
    EXPECT_FALSE(summary.max_ns);
    EXPECT_FALSE(diff_pct(summary.max_ns, 3));
    EXPECT_FALSE(diff_pct(0, 3));
}

// The document's own differences.
TEST(ExpeditedSummary, Difference)
{
    EXPECT_NEAR(*diff_pct(372766967, 2329671), -99.38, 0.005);
    EXPECT_NEAR(*diff_pct(2746353, 151242), -94.49, 0.005);
    EXPECT_NEAR(*diff_pct(326, 447), 37.12, 0.005);
}

TEST(ExpeditedSettings, PoisonShows)
{
    Settings settings(7);
    EXPECT_TRUE(settings.is_whole(2));
    settings.poison();
    EXPECT_FALSE(settings.is_whole(1));
    EXPECT_TRUE(settings.is_whole(0));
}

TEST(ExpeditedOutside, RunsInSessionsOfItsOwnAndEndsWithItsOwner)
{
    std::vector<pid_t> processes;
    {
        const OutsideLoad load(1);
        processes = load.processes();
        ASSERT_EQ(processes.size(), 3u);
        for (const pid_t process : processes) {
            while (getsid(process) == getsid(0))
                sched_yield();
            EXPECT_EQ(getsid(process), process);
        }
    }
    for (const pid_t process : processes)
        EXPECT_EQ(kill(process, 0), -1);
}

TEST(ExpeditedPlan, TimeIsShared)
{
    for (bool quick : {true, false}) {
        const double seconds = quick ? 12 : 120;
        const Plan plan = make_plan(quick, seconds, 2);
        double measured = 0;
        for (const Cell &cell : plan.cells) {
            const GroupPlan &group = plan.group[static_cast<int>(cell.group)];
            measured += group.experiments * static_cast<double>(group.duration_ns) / 1e9;
        }
        EXPECT_LE(measured, seconds);
        EXPECT_GE(measured, seconds / 3);
    }
    EXPECT_EQ(make_plan(false, 120, 2).group[0].experiments, 25u);
}

// A plan in which everything is as it should be; tests then spoil one thing.
static Plan good_plan()
{
    Plan plan = make_plan(false, 120, 2);
    for (Cell &cell : plan.cells) {
        cell.experiments = 2;
        cell.sum.wall_ns = 1'000'000'000;
        cell.sum.expedited = 1000;
        cell.sum.requests = 1000;
        cell.sections_per_s = {1000, 1000};
        const Variant &variant = cell.variant;
        const bool boosts = variant.boost && variant.call != Call::liburcu && variant.call != Call::round_trip;
        cell.sum.boosts = boosts && variant.readers >= 16 ? 50 : 0;
        uint64_t ns = 100'000;
        if ((cell.group == Group::worker || cell.group == Group::loaded) && variant.workqueue)
            ns = 6'000'000;
        if (cell.group == Group::busy && !boosts)
            ns = 2'000'000'000;
        cell.latency_ns = {std::vector<uint64_t>(600, ns), std::vector<uint64_t>(600, ns)};
    }
    return plan;
}

static Outcome outcome_of(const Plan &plan, const std::string &part, bool judge_times = true)
{
    for (const Verdict &verdict : judge(plan, 2, judge_times))
        if (verdict.claim.find(part) != std::string::npos)
            return verdict.outcome;
    ADD_FAILURE() << "no verdict about " << part;
    return Outcome::not_judged;
}

static Cell &cell_of(Plan &plan, Group group, Call call, unsigned readers, bool boost, bool workqueue = false)
{
    return const_cast<Cell &>(*find_cell(plan, group, call, readers, boost, workqueue));
}

TEST(ExpeditedChecks, HoldWhereEverythingIsAsItShouldBe)
{
    for (const Verdict &verdict : judge(good_plan(), 2, true))
        EXPECT_EQ(verdict.outcome, Outcome::held) << verdict.claim << ": " << verdict.figures;
}

TEST(ExpeditedChecks, QuickRunsJudgeCountsOnly)
{
    Plan plan = good_plan();
    cell_of(plan, Group::worker, Call::expedited, 0, true, false).latency_ns = {{9'000'000'000}};
    EXPECT_EQ(outcome_of(plan, "quiet, with boosting: the maximum", false), Outcome::not_judged);
    EXPECT_EQ(outcome_of(plan, "no reader saw", false), Outcome::held);
}

TEST(ExpeditedChecks, EachTimeBarFails)
{
    Plan plan = good_plan();
    cell_of(plan, Group::worker, Call::expedited, 0, true, false).latency_ns[0][0] = 5'900'000;
    EXPECT_EQ(outcome_of(plan, "quiet, with boosting: the maximum"), Outcome::failed);
    plan = good_plan();
    cell_of(plan, Group::worker, Call::expedited, 0, false, false).latency_ns[0][0] = 5'900'000;
    EXPECT_EQ(outcome_of(plan, "quiet, without boosting: the maximum"), Outcome::not_reproduced);
    plan = good_plan();
    cell_of(plan, Group::loaded, Call::expedited, 0, true, false).latency_ns[1][7] = 5'900'000;
    EXPECT_EQ(outcome_of(plan, "loaded, with boosting: the maximum"), Outcome::failed);
    plan = good_plan();
    for (uint64_t &ns : cell_of(plan, Group::busy, Call::expedited, 64, true).latency_ns[0])
        ns = 1'000'001;
    EXPECT_EQ(outcome_of(plan, "64 busy readers, with boosting"), Outcome::failed);
    plan = good_plan();
    cell_of(plan, Group::busy, Call::liburcu, 16, false).latency_ns = {{4'000'000}};
    EXPECT_EQ(outcome_of(plan, "a fiftieth"), Outcome::failed);
    plan = good_plan();
    cell_of(plan, Group::throughput, Call::request, 2, true).sections_per_s = {940, 940};
    EXPECT_EQ(outcome_of(plan, "one busy reader a CPU"), Outcome::failed);
}

TEST(ExpeditedChecks, EachCountFails)
{
    Plan plan = good_plan();
    cell_of(plan, Group::busy, Call::expedited, 4, true).sum.errors = 1;
    EXPECT_EQ(outcome_of(plan, "no reader saw", false), Outcome::failed);
    plan = good_plan();
    cell_of(plan, Group::busy, Call::expedited, 64, false).sum.boosts = 1;
    EXPECT_EQ(outcome_of(plan, "nowhere else", false), Outcome::failed);
    plan = good_plan();
    cell_of(plan, Group::worker, Call::expedited, 0, true, false).sum.rt_refused = 1;
    EXPECT_EQ(outcome_of(plan, "refused no", false), Outcome::failed);
}

TEST(ExpeditedRows, TheContractsKeysAreThere)
{
    const Plan plan = good_plan();
    Json found;
    for (const Summary &row : worker_rows(plan))
        if (row.worker == "kthread" && *row.boost && row.environment == "quiet")
            found = to_json(row);
    for (const char *key : {"experiments", "count", "min_ns", "q1_ns", "median_ns", "q3_ns", "max_ns", "avg_ns",
                            "stddev_ns", "largest_max_ns", "smallest_max_ns", "range_of_max_ns", "largest_min_ns",
                            "smallest_min_ns", "range_of_min_ns", "max_ns_diff_pct"})
        EXPECT_TRUE(found.contains(key)) << key;
    EXPECT_NEAR(found.at("max_ns_diff_pct").get<double>(), -98.33, 0.01);
}

TEST(ExpeditedRows, AFewSamplesGiveNoTail)
{
    Plan plan = good_plan();
    Cell &cell = cell_of(plan, Group::busy, Call::expedited, 16, true);
    EXPECT_TRUE(make_busy_row(cell).p99_ns);
    cell.latency_ns = {std::vector<uint64_t>(999, 1)};
    EXPECT_FALSE(make_busy_row(cell).p99_ns);
}

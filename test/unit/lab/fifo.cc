// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of the FIFO updater beside ordinary threads: its plan, one round of it, its rows and its verdicts.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "latency/fifo_rows.h"
#include "latency/plan.h"
#include "machine/realtime.h"
#include "verdicts.h"

using namespace lab;
using namespace lab::latency;

namespace
{

const char *later = "after the first 0.3 s, at most 1 × liburcu's";
const char *whole_round = "of the whole round, at most 1.5 × liburcu's";
const char *work = "ordinary threads do at least 1 × the work";

FifoRow row_of(const char *variant, double backlog_later, double backlog_whole, double loops)
{
    FifoRow row;
    row.variant = variant;
    // The rounds differ a little, as those of a machine do.
    for (double noise : {0.97, 0.98, 0.99, 1.0, 1.01, 1.02, 1.03}) {
        row.each_later.push_back(backlog_later * noise);
        row.each_whole.push_back(backlog_whole * noise);
        row.each_loops.push_back(loops * noise);
    }
    return row;
}

// Rows that meet every bar.
std::vector<FifoRow> good()
{
    return {row_of(fifo_ours, 500, 600, 1'050), row_of(fifo_ordinary, 5'000, 11'000, 1'000),
            row_of(fifo_liburcu, 1'100, 1'100, 1'020)};
}

// The values of the rounds lie on both sides of `middle`.
std::vector<double> around(double middle)
{
    return {middle * 0.7, middle * 1.4, middle * 0.8, middle * 1.3, middle * 0.75, middle * 1.35, middle};
}

FifoRound round_of(uint32_t early, uint32_t late_peak, uint64_t loops)
{
    FifoRound round{};
    round.due_times = fifo_due_times;
    round.late_ns.fill(20'000);
    round.late_ns[7] = 900'000;
    round.backlog.fill(100);
    round.backlog[10] = early;
    round.backlog[700] = late_peak;
    round.queued = 150'000;
    round.age_p99_us = 4'000;
    round.age_max_us = 6'000;
    round.loops = loops;
    round.wall_ns = 1'500'000'000;
    round.loops_cpu_ns = 750'000'000;
    round.helper_cpu_ns = 45'000'000;
    round.helpers = 3;
    round.helpers_realtime = 2;
    return round;
}

std::string refusal(const PlanOptions &options)
{
    std::vector<Variant> plan;
    std::string error;
    EXPECT_FALSE(make_plan(options, plan, error));
    return error;
}

} // namespace

TEST(Fifo, BarsThatAreMetHold)
{
    const Verdicts verdicts = judge_fifo(good(), true);
    EXPECT_EQ(verdicts.size(), 3u);
    for (const char *claim : {later, whole_round, work})
        EXPECT_EQ(outcome_of(verdicts, claim), Outcome::held) << claim;
}

TEST(Fifo, PeakAfterTheBeginAboveLiburcusFails)
{
    std::vector<FifoRow> rows = good();
    rows[0] = row_of(fifo_ours, 1'110, 1'200, 1'050);
    EXPECT_EQ(outcome_of(judge_fifo(rows, true), later), Outcome::failed);
    EXPECT_EQ(outcome_of(judge_fifo(rows, true), whole_round), Outcome::held);
}

TEST(Fifo, PeakOfTheRoundAboveOneAndAHalfOfLiburcusFails)
{
    std::vector<FifoRow> rows = good();
    rows[0] = row_of(fifo_ours, 500, 1'660, 1'050);
    EXPECT_EQ(outcome_of(judge_fifo(rows, true), whole_round), Outcome::failed);
    EXPECT_EQ(outcome_of(judge_fifo(rows, true), later), Outcome::held);
}

TEST(Fifo, OrdinaryThreadsThatDoLessWorkThanBesideOrdinaryPrioritiesFail)
{
    std::vector<FifoRow> rows = good();
    rows[0] = row_of(fifo_ours, 500, 600, 990);
    EXPECT_EQ(outcome_of(judge_fifo(rows, true), work), Outcome::failed);
    EXPECT_NE(figures_of(judge_fifo(rows, true), work).find("0.99 (0.99 to 0.99) times"), std::string::npos);
    EXPECT_NE(figures_of(judge_fifo(rows, true), work).find("the work beside liburcu"), std::string::npos);
}

TEST(Fifo, IntervalThatContainsTheBarIsUndecided)
{
    std::vector<FifoRow> rows = good();
    static_cast<std::vector<double> &>(rows[0].each_later) = around(1'100);
    static_cast<std::vector<double> &>(rows[0].each_whole) = around(1'650);
    static_cast<std::vector<double> &>(rows[0].each_loops) = around(1'000);
    const Verdicts verdicts = judge_fifo(rows, true);
    for (const char *claim : {later, whole_round, work}) {
        EXPECT_EQ(outcome_of(verdicts, claim), Outcome::not_judged) << claim;
        EXPECT_NE(figures_of(verdicts, claim).find("undecided: the interval contains the bar"), std::string::npos)
            << claim;
    }
}

TEST(Fifo, FewRoundsAndQuickRunsAreNotJudged)
{
    std::vector<FifoRow> rows = good();
    for (const Verdict &verdict : judge_fifo(rows, false))
        EXPECT_EQ(verdict.outcome, Outcome::not_judged) << verdict.claim;
    for (FifoRow &row : rows)
        for (Numbers *each : {&row.each_later, &row.each_whole, &row.each_loops})
            each->resize(4);
    for (const Verdict &verdict : judge_fifo(rows, true)) {
        EXPECT_EQ(verdict.outcome, Outcome::not_judged) << verdict.claim;
        EXPECT_EQ(verdict.figures, "4 rounds of the 5 that a spread needs");
    }
}

TEST(Fifo, VariantThatIsMissingHasNoVerdict)
{
    std::vector<FifoRow> rows = good();
    rows.pop_back();
    EXPECT_EQ(judge_fifo(rows, true).size(), 1u) << "the work is compared without liburcu";
    rows.erase(rows.begin());
    EXPECT_TRUE(judge_fifo(rows, true).empty());
}

TEST(Fifo, RowHasThePeakBacklogBeforeAndAfter300Milliseconds)
{
    const FifoVariant &variant = fifo_variants()[0];
    std::vector<FifoRound> rounds(5, round_of(900, 400, 1'500));
    rounds[3].unfinished = 1;
    std::vector<FifoRow> rows = {make_fifo_row(variant, rounds),
                                 make_fifo_row(fifo_variants()[1], {5, round_of(100, 100, 3'000)})};
    fill_fifo_intervals(rows);
    const FifoRow &row = rows[0];
    EXPECT_EQ(row.begin, 900);
    EXPECT_EQ(row.later, 400);
    EXPECT_EQ(row.whole, 900);
    EXPECT_EQ(row.late_us_p50, 20);
    EXPECT_EQ(row.late_us_max, 900);
    EXPECT_EQ(row.age_ms_max, 6);
    EXPECT_EQ(row.age_mark, "≥") << "a callback had not returned when the process gave up";
    EXPECT_EQ(row.work, 0.5);
    EXPECT_EQ(row.ordinary_cpus, 0.5);
    EXPECT_EQ(row.own_cpus, 0.03);
    EXPECT_EQ(row.realtime_text, "2 of 3");
    EXPECT_EQ(rows[1].work_text, "1");
    const FifoCurve curve = make_fifo_curve(variant, rounds);
    ASSERT_EQ(curve.backlog.size(), fifo_due_times);
    EXPECT_EQ(curve.backlog[10], (std::pair<double, double>(11, 900)));
}

TEST(Fifo, RunsOnlyIfNamedAndRefusesOptionsThatDoNotFit)
{
    PlanOptions options;
    EXPECT_FALSE(wants_fifo(options));
    options.workloads = {"fifo"};
    EXPECT_TRUE(wants_fifo(options));
    std::vector<Variant> plan;
    std::string error;
    EXPECT_TRUE(make_plan(options, plan, error)) << error;
    EXPECT_TRUE(plan.empty()) << "it has no event loop";
    options.fifo = false;
    EXPECT_NE(refusal(options).find("--other does not fit the workload fifo"), std::string::npos);
    options.fifo = true;
    options.policies = {"inline"};
    EXPECT_NE(refusal(options).find("--policy does not fit the workload fifo"), std::string::npos);
}

TEST(Fifo, RoundQueuesAllCallbacksAndCountsTheirAges)
{
    if (!realtime_permitted())
        GTEST_SKIP() << "SCHED_FIFO is refused";
    for (const FifoVariant &variant : fifo_variants()) {
        FifoRound round{};
        std::string error;
        ASSERT_TRUE(run_fifo_round(variant, {}, 100'000'000, round, error)) << variant.name << ": " << error;
        EXPECT_EQ(round.due_times, 100u);
        EXPECT_EQ(round.queued, 10'000u);
        EXPECT_LE(round.unfinished, round.queued);
        EXPECT_TRUE(round.age_max_us > 0 || round.unfinished == round.queued);
        EXPECT_GT(round.loops, 0u);
    }
}

TEST(Fifo, RoundWithASettingThatDoesNotExistReportsIt)
{
    if (!realtime_permitted())
        GTEST_SKIP() << "SCHED_FIFO is refused";
    FifoRound round{};
    std::string error;
    EXPECT_FALSE(run_fifo_round(fifo_variants()[0], {{"no_such_setting", "1"}}, 100'000'000, round, error));
    EXPECT_NE(error.find("no_such_setting"), std::string::npos) << error;
}

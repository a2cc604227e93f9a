// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of `rtrcu expedited`: summaries, rows, verdicts, and the readers' check of the data that they read.
#include <csignal>
#include <sched.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "expedited/checks.h"
#include "expedited/outside.h"
#include "expedited/rows.h"
#include "expedited/summary.h"
#include "verdicts.h"

using namespace lab;
using namespace lab::expedited;

TEST(ExpeditedSummary, SummaryHasTheQuartilesOfAllSamples)
{
    const Summary summary = summarise({{4, 1}, {}, {3, 2, 10}});
    EXPECT_EQ(summary.experiments, 2u) << "the experiment without samples does not count";
    EXPECT_EQ(summary.count, 5u);
    EXPECT_EQ(summary.min_ns, 1);
    EXPECT_EQ(summary.q1_ns, 2);
    EXPECT_EQ(summary.median_ns, 3);
    EXPECT_EQ(summary.q3_ns, 4);
    EXPECT_EQ(summary.max_ns, 10);
    EXPECT_EQ(summary.avg_ns, 4);
    EXPECT_NEAR(*summary.stddev_ns, 3.1623, 1e-4);
}

TEST(ExpeditedSummary, SummaryHasTheRangesOverExperiments)
{
    const Summary summary = summarise({{4, 1}, {3, 2, 10}});
    EXPECT_EQ(summary.largest_max_ns, 10);
    EXPECT_EQ(summary.smallest_max_ns, 4);
    EXPECT_EQ(summary.range_of_max_ns, 6);
    EXPECT_EQ(summary.largest_min_ns, 2);
    EXPECT_EQ(summary.smallest_min_ns, 1);
    EXPECT_EQ(summary.range_of_min_ns, 1);
}

TEST(ExpeditedSummary, SummaryOfNoSamplesHasNoMaximum)
{
    const Summary summary = summarise({{}, {}});
    EXPECT_EQ(summary.count, 0u);
    EXPECT_FALSE(summary.max_ns);
    EXPECT_FALSE(diff_pct(summary.max_ns, 3));
    EXPECT_FALSE(diff_pct(0, 3));
}

// The figures and the differences are those of the published document.
TEST(ExpeditedSummary, DifferencesEqualThePublishedDifferences)
{
    EXPECT_NEAR(*diff_pct(372766967, 2329671), -99.38, 0.005);
    EXPECT_NEAR(*diff_pct(2746353, 151242), -94.49, 0.005);
    EXPECT_NEAR(*diff_pct(326, 447), 37.12, 0.005);
}

TEST(ExpeditedSettings, ReaderDetectsPoisonedSettings)
{
    Settings settings(7);
    EXPECT_TRUE(settings.is_whole(2));
    settings.poison();
    EXPECT_FALSE(settings.is_whole(1));
    EXPECT_TRUE(settings.is_whole(0));
}

TEST(ExpeditedOutside, ProcessesHaveTheirOwnSessionsAndEndWithTheObject)
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

TEST(ExpeditedPlan, CellsShareTheRequestedSeconds)
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

// A plan with results for which every verdict is `held`; a test then changes values.
static Plan good_plan()
{
    Plan plan = make_plan(false, 120, 2);
    for (Cell &cell : plan.cells) {
        cell.experiments = 5;
        cell.sum.wall_ns = 1'000'000'000;
        cell.sum.expedited = cell.variant.normal ? 0 : 1000;
        cell.sum.by_caller = cell.variant.worker == Worker::kthread && !cell.variant.normal ? 600 : 0;
        cell.sum.requests = 1000;
        cell.sections_per_s = {1000, 1000, 1000, 1000, 1000};
        const Variant &variant = cell.variant;
        const bool boosts = variant.boost && variant.call != Call::liburcu && variant.call != Call::round_trip;
        cell.sum.boosts = boosts && variant.readers >= 16 ? 50 : 0;
        uint64_t ns = variant.worker == Worker::kthread ? 10'000 : 30'000;
        if ((cell.group == Group::worker || cell.group == Group::loaded) && variant.call == Call::round_trip)
            ns = 20'000;
        else if ((cell.group == Group::worker || cell.group == Group::loaded) && variant.worker == Worker::workqueue)
            ns = 6'000'000;
        if (cell.group == Group::busy && !boosts)
            ns = 2'000'000'000;
        cell.latency_ns.assign(5, std::vector<uint64_t>(600, ns));
    }
    for (InterruptCell &cell : plan.interrupts) {
        const bool fenced = cell.isolation == Isolation::expedited || cell.isolation == Isolation::normal;
        const uint64_t grace_periods = cell.isolation == Isolation::control ? 0 : 1000;
        for (uint64_t i = 0; i < 5; i++)
            cell.experiments.push_back({1'000'000'000, 50 + i + (fenced ? 1000 : 0), grace_periods, 1'000'000});
    }
    return plan;
}

static Outcome outcome_of(const Plan &plan, const std::string &part, bool judge_times = true)
{
    return outcome_of(judge(plan, 2, judge_times), part);
}

static Cell &cell_of(Plan &plan, Group group, Call call, unsigned readers, bool boost, Worker worker = Worker::kthread)
{
    return const_cast<Cell &>(*find_cell(plan, group, call, readers, boost, worker));
}

static InterruptCell &interrupts_of(Plan &plan, Isolation isolation)
{
    return const_cast<InterruptCell &>(*find_interrupts(plan, isolation));
}

static std::string figures_of(const Plan &plan, const std::string &part)
{
    return figures_of(judge(plan, 2, true), part);
}

// Gives each call of a cell the same latency.
static void set_all(Cell &cell, uint64_t ns)
{
    cell.latency_ns.assign(5, std::vector<uint64_t>(600, ns));
}

TEST(ExpeditedChecks, AllVerdictsHoldForAGoodPlan)
{
    for (const Verdict &verdict : judge(good_plan(), 2, true))
        EXPECT_EQ(verdict.outcome, Outcome::held) << verdict.claim << ": " << verdict.figures;
}

TEST(ExpeditedChecks, QuickRunJudgesCountsAndNotTimes)
{
    Plan plan = good_plan();
    set_all(cell_of(plan, Group::loaded, Call::expedited, 0, true), 9'000'000'000);
    EXPECT_EQ(outcome_of(plan, "loaded, with boosting: the maximum", false), Outcome::not_judged);
    EXPECT_EQ(outcome_of(plan, "no reader saw", false), Outcome::held);
}

TEST(ExpeditedChecks, LoadedLatencyAboveItsBarFailsOnlyWithBoosting)
{
    for (bool boost : {true, false}) {
        Plan plan = good_plan();
        set_all(cell_of(plan, Group::loaded, Call::expedited, 0, boost), 130'000); // -97.8 %
        for (const char *figure : {"the maximum is", "the mean is"})
            EXPECT_EQ(outcome_of(plan, std::string("loaded, ") + (boost ? "with" : "without") + " boosting: " + figure),
                      boost ? Outcome::failed : Outcome::not_reproduced);
    }
}

TEST(ExpeditedChecks, DifferenceInsideTheSpreadIsNotReproduced)
{
    Plan plan = good_plan();
    Cell &workqueue = cell_of(plan, Group::loaded, Call::expedited, 0, true, Worker::workqueue);
    // kthread's mean is 10 µs; in three of the five experiments workqueue's mean is not higher
    for (std::size_t i = 0; i < 5; i++)
        workqueue.latency_ns[i].assign(600, i < 3 ? 10'000 : 60'000'000);
    EXPECT_EQ(outcome_of(plan, "loaded, with boosting: the mean is"), Outcome::not_reproduced);
}

TEST(ExpeditedChecks, TooFewExperimentsAreNotJudged)
{
    Plan plan = good_plan();
    cell_of(plan, Group::loaded, Call::expedited, 0, true).latency_ns.resize(4);
    EXPECT_EQ(outcome_of(plan, "loaded, with boosting: the mean is"), Outcome::not_judged);
    EXPECT_NE(figures_of(plan, "loaded, with boosting: the mean is").find("4 rounds of the 5 that a spread needs"),
              std::string::npos);
}

TEST(ExpeditedChecks, UnfinishedCallLeavesAGoodMaximumUnjudged)
{
    Plan plan = good_plan();
    Cell &ours = cell_of(plan, Group::loaded, Call::expedited, 0, true);
    ours.cut_off_ns = {10'000};
    EXPECT_EQ(outcome_of(plan, "loaded, with boosting: the maximum is"), Outcome::not_judged);
    set_all(ours, 130'000);
    EXPECT_EQ(outcome_of(plan, "loaded, with boosting: the maximum is"), Outcome::failed);
}

TEST(ExpeditedChecks, QuietLatencyIsJudgedAgainstTheWakeUpFloor)
{
    Plan plan = good_plan();
    set_all(cell_of(plan, Group::worker, Call::expedited, 0, true), 21'000);
    EXPECT_EQ(outcome_of(plan, "the median is below the machine's wake-up floor"), Outcome::failed);
    EXPECT_EQ(outcome_of(plan, "the mean is below the machine's wake-up floor"), Outcome::failed);
    set_all(cell_of(plan, Group::worker, Call::expedited, 0, true), 20'000);
    EXPECT_EQ(outcome_of(plan, "the mean is below the machine's wake-up floor"), Outcome::not_reproduced);
}

TEST(ExpeditedChecks, MissedPublishedFigureIsNotAFailure)
{
    Plan plan = good_plan();
    set_all(cell_of(plan, Group::worker, Call::expedited, 0, true, Worker::workqueue), 60'000); // -50 % and -83 %
    for (const char *row : {"kthread-only against workqueue, quiet", "kthread against workqueue, quiet"})
        EXPECT_EQ(outcome_of(plan, std::string("the document's -94.49 % of the mean: ") + row),
                  Outcome::not_reproduced);
    EXPECT_FALSE(any_failed(judge(plan, 2, true)));
    set_all(cell_of(plan, Group::loaded, Call::expedited, 0, true, Worker::kthread_only), 400'000); // -93 %
    EXPECT_EQ(outcome_of(plan, "the document's -94.49 % of the mean: kthread-only against workqueue, loaded"),
              Outcome::not_reproduced);
    EXPECT_EQ(outcome_of(plan, "the document's -99.38 % of the maximum: kthread-only against workqueue, loaded"),
              Outcome::not_reproduced);
}

TEST(ExpeditedChecks, PublishedFigureBelowTheFloorIsExplained)
{
    Plan plan = good_plan();
    const auto explained = [&plan] {
        for (const Verdict &verdict : judge(plan, 2, true))
            if (verdict.claim.find("-94.49 % of the mean: kthread-only against workqueue, quiet") != std::string::npos)
                return verdict.figures.find("below the wake-up floor") != std::string::npos;
        return false;
    };
    EXPECT_FALSE(explained()) << "5.5 % of 6 ms are above the floor of 20 µs";
    set_all(cell_of(plan, Group::worker, Call::expedited, 0, true, Worker::workqueue), 60'000);
    EXPECT_TRUE(explained());
}

TEST(ExpeditedChecks, BoostingAloneHelpsWhereTheMeanFallsBeyondTheSpread)
{
    const char *const claim = "boosting alone does not help: workqueue, loaded";
    Plan plan = good_plan();
    Cell &with = cell_of(plan, Group::loaded, Call::expedited, 0, true, Worker::workqueue);
    set_all(with, 5'000'000);
    EXPECT_EQ(outcome_of(plan, claim), Outcome::not_reproduced);
    set_all(with, 7'000'000);
    EXPECT_EQ(outcome_of(plan, claim), Outcome::held);
    for (std::size_t i = 0; i < 5; i++)
        with.latency_ns[i].assign(600, i < 2 ? 100'000 : 7'000'000); // in two of five experiments the mean is far lower
    EXPECT_EQ(outcome_of(plan, claim), Outcome::not_judged);
}

TEST(ExpeditedChecks, BusyReadersFailAboveTheirBars)
{
    Plan plan = good_plan();
    set_all(cell_of(plan, Group::busy, Call::expedited, 64, true), 1'000'001);
    EXPECT_EQ(outcome_of(plan, "64 busy readers, with boosting"), Outcome::failed);
    plan = good_plan();
    set_all(cell_of(plan, Group::busy, Call::liburcu, 16, false), 400'000);
    EXPECT_EQ(outcome_of(plan, "a fiftieth"), Outcome::failed);
    cell_of(plan, Group::busy, Call::liburcu, 16, false).latency_ns = {std::vector<uint64_t>(19, 2'000'000'000)};
    EXPECT_EQ(outcome_of(plan, "a fiftieth"), Outcome::not_judged) << "a median needs 20 calls";
    plan = good_plan();
    set_all(cell_of(plan, Group::busy, Call::expedited, 64, false), 90'000);
    EXPECT_EQ(outcome_of(plan, "p50 is at most a tenth"), Outcome::not_reproduced);
}

// A call that the end of the run cut off would have taken at least its time so far.  Of 1,010 samples at most 10 may be
// above the percentile.
TEST(ExpeditedChecks, UnfinishedCallsCanSpoilThe99thPercentile)
{
    Plan plan = good_plan();
    Cell &cell = cell_of(plan, Group::busy, Call::expedited, 64, true);
    cell.latency_ns = {std::vector<uint64_t>(1'000, 100'000)};
    cell.cut_off_ns.assign(10, 500'000);
    EXPECT_EQ(outcome_of(plan, "64 busy readers, with boosting"), Outcome::held);
    cell.cut_off_ns.assign(11, 500'000);
    EXPECT_EQ(outcome_of(plan, "64 busy readers, with boosting"), Outcome::not_judged);
    cell.cut_off_ns.assign(11, 2'000'000);
    EXPECT_EQ(outcome_of(plan, "64 busy readers, with boosting"), Outcome::failed);
    cell.latency_ns = {std::vector<uint64_t>(900, 100'000)};
    EXPECT_EQ(outcome_of(plan, "64 busy readers, with boosting"), Outcome::not_judged) << "p99 needs 1,000 samples";
    EXPECT_NE(figures_of(plan, "64 busy readers, with boosting").find("911 samples of the 1,000 that p99 needs"),
              std::string::npos);
}

TEST(ExpeditedChecks, ThroughputIsJudgedOutsideTheSpread)
{
    Plan plan = good_plan();
    Cell &with = cell_of(plan, Group::throughput, Call::request, 2, true);
    with.sections_per_s.assign(5, 940);
    EXPECT_EQ(outcome_of(plan, "one busy reader per CPU"), Outcome::failed);
    with.sections_per_s = {910, 910, 940, 980, 980};
    EXPECT_EQ(outcome_of(plan, "one busy reader per CPU"), Outcome::not_judged);
    cell_of(plan, Group::throughput, Call::request, 16, false).sum.expedited = 100;
    EXPECT_EQ(outcome_of(plan, "more than CPUs"), Outcome::not_judged) << "the rates of grace periods differ";
}

TEST(ExpeditedChecks, WrongCountFailsItsCheck)
{
    Plan plan = good_plan();
    cell_of(plan, Group::busy, Call::expedited, 4, true).sum.errors = 1;
    EXPECT_EQ(outcome_of(plan, "no reader saw", false), Outcome::failed);
    plan = good_plan();
    cell_of(plan, Group::busy, Call::expedited, 64, false).sum.boosts = 1;
    EXPECT_EQ(outcome_of(plan, "nowhere else", false), Outcome::failed);
    plan = good_plan();
    for (Cell &cell : plan.cells)
        if (cell.group == Group::busy)
            cell.sum.boosts = 0;
    EXPECT_EQ(outcome_of(plan, "nowhere else", false), Outcome::failed)
        << "readers outnumber the CPUs, but none was boosted";
    for (uint64_t Outcomes::*refused : {&Outcomes::rt_refused, &Outcomes::boost_refused}) {
        plan = good_plan();
        cell_of(plan, Group::worker, Call::expedited, 0, true).sum.*refused = 1;
        EXPECT_EQ(outcome_of(plan, "refused no", false), Outcome::failed);
    }
    plan = good_plan();
    for (Cell &cell : plan.cells)
        cell.sum.expedited = 0;
    EXPECT_EQ(outcome_of(plan, "calls returned and grace periods ended", false), Outcome::failed);
    plan = good_plan();
    for (Cell &cell : plan.cells)
        cell.latency_ns.clear();
    EXPECT_EQ(outcome_of(plan, "calls returned and grace periods ended", false), Outcome::failed);
    for (Worker worker : {Worker::workqueue, Worker::kthread_only}) {
        plan = good_plan();
        cell_of(plan, Group::loaded, Call::expedited, 0, false, worker).sum.by_caller = 1;
        EXPECT_EQ(outcome_of(plan, "callers advanced no grace period", false), Outcome::failed);
    }
    plan = good_plan();
    for (Cell &cell : plan.cells)
        cell.sum.by_caller = 0;
    EXPECT_EQ(outcome_of(plan, "callers advanced no grace period", false), Outcome::failed)
        << "callers advance no grace period with kthread either";
    plan = good_plan();
    const_cast<Cell *>(find_normal_cell(plan, Group::worker))->sum.expedited = 1;
    EXPECT_EQ(outcome_of(plan, "with normal=1", false), Outcome::failed);
}

TEST(ExpeditedInterrupts, InterruptsAreReadFromTheCpusColumn)
{
    const std::string text = "           CPU0       CPU2\n"
                             "  0:         45          7   IO-APIC   2-edge      timer\n"
                             "CAL:       1200      34000   Function call interrupts\n";
    EXPECT_EQ(function_calls_at(text, 0), 1200u);
    EXPECT_EQ(function_calls_at(text, 2), 34000u) << "CPU1 is offline and has no column";
    EXPECT_FALSE(function_calls_at(text, 1));
    EXPECT_FALSE(function_calls_at("     CPU0\nLOC:   1   Local timer interrupts\n", 0));
}

TEST(ExpeditedInterrupts, ControlsInterruptsAreSubtracted)
{
    Plan plan = good_plan();
    const InterruptCell &control = interrupts_of(plan, Isolation::control);
    EXPECT_EQ(interrupts_per_grace_period(interrupts_of(plan, Isolation::expedited), control),
              std::vector<double>(5, 1));
    EXPECT_EQ(interrupts_per_grace_period(interrupts_of(plan, Isolation::quiescent_state), control),
              std::vector<double>(5, 0));
    EXPECT_TRUE(interrupts_per_grace_period(control, control).empty()) << "the control has no grace periods";
}

TEST(ExpeditedInterrupts, InterruptsOfAnIsolatedReaderFailTheCheck)
{
    for (Isolation isolation : {Isolation::no_membarrier, Isolation::quiescent_state}) {
        Plan plan = good_plan();
        for (InterruptTotals &totals : interrupts_of(plan, isolation).experiments)
            totals.interrupts += 101;
        EXPECT_EQ(outcome_of(plan, std::string(name_of(isolation)) + ": an isolated"), Outcome::failed);
        for (std::size_t i = 0; i < 5; i++) // the control's interrupts vary by more than the reader's
            interrupts_of(plan, Isolation::control).experiments[i].interrupts = i < 2 ? 400 : 0;
        EXPECT_EQ(outcome_of(plan, std::string(name_of(isolation)) + ": an isolated"), Outcome::not_judged);
    }
}

TEST(ExpeditedRows, RowHasTheDocumentedKeys)
{
    const Plan plan = good_plan();
    Json found, only;
    for (const Summary &row : worker_rows(plan)) {
        if (row.worker == "kthread" && *row.boost && row.environment == "quiet")
            found = to_json(row);
        if (row.worker == "kthread-only" && *row.boost && row.environment == "loaded")
            only = to_json(row);
    }
    for (const char *key :
         {"experiments", "count", "min_ns", "q1_ns", "median_ns", "q3_ns", "max_ns", "avg_ns", "stddev_ns",
          "largest_max_ns", "smallest_max_ns", "range_of_max_ns", "largest_min_ns", "smallest_min_ns",
          "range_of_min_ns", "max_ns_diff_pct", "by_caller", "by_worker", "cut_off"})
        EXPECT_TRUE(found.contains(key)) << key;
    EXPECT_NEAR(found.at("max_ns_diff_pct").get<double>(), -99.83, 0.01);
    EXPECT_EQ(found.at("by_worker"), 400);
    EXPECT_EQ(only.at("by_worker"), 1000);
}

TEST(ExpeditedRows, TableHasPublishedAndMeasuredColumns)
{
    choose_table_width(0);
    const std::string text = document_table(good_plan(), Group::worker, durations);
    for (const char *part : {"Linux 2022: workqueues", "kthread_worker", "-94.49%", "-99.38%", "kthread-only",
                             "normal=1", "-99.50%", "floor"})
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    EXPECT_EQ(document_table(good_plan(), Group::loaded, durations).find("normal=1"), std::string::npos);
    EXPECT_NE(document_table(good_plan(), Group::worker, turned).find("advanced by callers"), std::string::npos);
}

TEST(ExpeditedRows, UnfinishedCallsAreExcludedFromOtherFigures)
{
    Plan plan = good_plan();
    Cell &cell = cell_of(plan, Group::busy, Call::expedited, 64, true);
    ExperimentRecord record(10);
    for (uint64_t ns : {10u, 20u, 3'000'000u})
        record.latency_ns.push(ns);
    record.outcomes->unfinished = 1;
    cell.latency_ns.clear();
    cell.add(record);
    const BusyRow row = make_busy_row(cell);
    EXPECT_EQ(row.count, 2);
    EXPECT_EQ(row.unfinished, 1);
    EXPECT_EQ(row.max_ns, 20);
    EXPECT_EQ(row.cut_off_ns_max, 3'000'000);
}

TEST(ExpeditedRows, FloorRowHas64BusyReaders)
{
    for (const bool quick : {true, false}) {
        Plan plan = make_plan(quick, 12, 2);
        for (Cell &cell : plan.cells)
            cell.experiments = 1;
        std::vector<double> floors;
        for (const BusyRow &row : busy_rows(plan))
            if (row.peer == "floor" && row.label == "floor" && !row.boost)
                floors.push_back(*row.readers);
        EXPECT_EQ(floors, std::vector<double>{64});
    }
}

TEST(ExpeditedRows, FewSamplesGiveNo99thPercentile)
{
    Plan plan = good_plan();
    Cell &cell = cell_of(plan, Group::busy, Call::expedited, 16, true);
    EXPECT_TRUE(make_busy_row(cell).p99_ns);
    cell.latency_ns = {std::vector<uint64_t>(999, 1)};
    EXPECT_FALSE(make_busy_row(cell).p99_ns);
}

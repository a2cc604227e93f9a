// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of `rtrcu latency`: its plan, the keys of its rows, and its verdicts.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>

#include "latency/checks.h"
#include "latency/plan.h"
#include "latency/rows.h"
#include "verdicts.h"

using namespace lab;
using namespace lab::latency;

static std::vector<Variant> plan_of(const PlanOptions &options)
{
    std::vector<Variant> plan;
    std::string error;
    EXPECT_TRUE(make_plan(options, plan, error)) << error;
    return plan;
}

TEST(LatencyPlan, PlanWithOnlyInlineAlsoContainsTheFloor)
{
    PlanOptions options;
    options.workloads = {"route"};
    options.policies = {"inline"};
    std::vector<Variant> plan = plan_of(options);
    ASSERT_EQ(plan.size(), 2u);
    EXPECT_EQ(plan[0].label(), "route none");
    EXPECT_EQ(plan[1].label(), "route inline");
}

TEST(LatencyPlan, FloodHasThePublishedBurstSizes)
{
    PlanOptions options;
    options.workloads = {"flood"};
    options.policies = {"unbounded"};
    std::vector<uint64_t> bursts;
    for (const Variant &variant : plan_of(options))
        bursts.push_back(variant.burst);
    EXPECT_EQ(bursts, (std::vector<uint64_t>{30'000, 30'000, 1'660, 10'000}));
}

TEST(LatencyPlan, DefaultPlanHasTable1OnBothCachesAndAllWorkloads)
{
    std::set<std::string> labels;
    for (const Variant &variant : plan_of({}))
        labels.insert(variant.label());
    for (const char *workload : {"dcache", "route"})
        for (const char *policy : {"none", "unbounded", "krcud", "direct", "throttle-16", "throttle"})
            EXPECT_TRUE(labels.contains(fmt::format("{} {} (one CPU)", workload, policy))) << workload << policy;
    for (const char *label : {"both inline", "dcache direct", "route direct", "flood krcud-always", "flood krcud-0"})
        EXPECT_TRUE(labels.contains(label)) << label;
}

TEST(LatencyPlan, UnknownNameIsRefusedWithTheKnownOnes)
{
    std::vector<Variant> plan;
    std::string error;
    PlanOptions options;
    options.policies = {"magic"};
    EXPECT_FALSE(make_plan(options, plan, error));
    EXPECT_EQ(error.rfind("there is no policy 'magic'; allowed: none, unbounded, inline", 0), 0u) << error;
    options = {};
    options.workloads = {"swamp"};
    EXPECT_FALSE(make_plan(options, plan, error));
    EXPECT_NE(error.find("dcache, route, both, flood"), std::string::npos);
}

static Variant variant_of(const char *policy)
{
    return {"flood", find_policy(policy), flood_burst, true, 1};
}

TEST(LatencyRows, RowsHaveEveryKeyAndNullIfSamplesAreTooFew)
{
    VariantRecord record(2'000, 2'000);
    for (uint32_t i = 0; i < 1'000; i++)
        record.loop.push({1000 * (i + 1), 0, 0, 0, 0});
    record.loop.push({5'000'000, 300'000, 200'000, 4'000, 150'000});
    record.sum().rounds = 1;
    record.sum().fifo = true;
    record.sum().wall_ns = 2'000'000'000;
    record.sum().loop_cpu_ns = 1'000'000'000;
    record.sum().operations = 10'000;
    record.sum().callbacks = 123;
    record.sum().backlog_max = 700;
    record.sum().helper_cpu_ns = 1'000'000'000;
    record.rounds.push({10'000, 123, 2'000'000'000, 1'000'000'000, 1'000'000'000, 1'001, 700, 700});
    record.batches.push(4'000);
    Json row = to_json(make_row(variant_of("unbounded"), record, "loop"));
    for (const char *key : {"workload",
                            "policy",
                            "probe",
                            "samples",
                            "p50_us",
                            "p99_us",
                            "p999_us",
                            "p9999_us",
                            "max_us",
                            "floor_p99_us",
                            "floor_p999_us",
                            "callbacks",
                            "callbacks_per_gp_p50",
                            "callbacks_per_gp_max",
                            "callback_ns",
                            "overrun_us_p9999",
                            "overrun_us_max",
                            "overrun_cpu_us_p9999",
                            "overrun_callbacks_max",
                            "callback_share_us_p999",
                            "callback_share_us_p9999",
                            "callbacks_direct",
                            "direct_refused",
                            "backlog_cut",
                            "ops_per_cpu_s",
                            "backlog_max",
                            "ops_per_s"})
        EXPECT_TRUE(row.contains(key)) << key;
    for (const auto &[key, value] : row.items())
        EXPECT_TRUE(value.is_primitive()) << key << ": a row has no nested values";
    EXPECT_EQ(row["samples"], 1001);
    EXPECT_DOUBLE_EQ(row["p50_us"].get<double>(), 501);
    EXPECT_TRUE(row["p999_us"].is_null());
    EXPECT_TRUE(row["floor_p99_us"].is_null());
    EXPECT_DOUBLE_EQ(row["max_us"].get<double>(), 5000);
    EXPECT_DOUBLE_EQ(row["overrun_us_max"].get<double>(), 300);
    EXPECT_EQ(row["overrun_callbacks_max"], 4000);
    EXPECT_DOUBLE_EQ(row["callback_share_us_max"].get<double>(), 150);
    EXPECT_EQ(row["backlog_cut"], true) << "the round ended at the largest backlog";
    EXPECT_DOUBLE_EQ(row["ops_per_s"].get<double>(), 5000);
    EXPECT_DOUBLE_EQ(row["ops_per_cpu_s"].get<double>(), 5000) << "one CPU second each of the loop and a helper";
    EXPECT_DOUBLE_EQ(row["utilisation"].get<double>(), 0.5);
}

TEST(LatencyRows, FloorIsTakenFromTheSameWorkloadAndProbe)
{
    Row floor, other, row;
    floor.workload = row.workload = "flood";
    other.workload = "route";
    floor.policy = other.policy = "none";
    row.policy = "inline";
    floor.probe = other.probe = row.probe = "loop";
    floor.p99_us = 7;
    other.p99_us = 9;
    std::vector<Row> rows = {other, floor, row};
    fill_floors(rows);
    EXPECT_EQ(rows[2].floor_p99_us, 7);
}

static Row flood_row(const char *policy, double late, double share_us)
{
    Row row;
    row.workload = "flood";
    row.policy = policy;
    row.label = std::string("flood ") + policy;
    row.probe = "loop";
    row.scheduling = "fifo";
    row.burst = flood_burst;
    row.samples = 20'000;
    row.overrun_callbacks_max = late;
    row.callback_share_us_max = row.callback_share_us_p999 = share_us;
    row.ops_per_s = 1000;
    row.ops_per_cpu_s = 1000;
    row.each_ops_per_cpu_s = {1000, 1001, 999, 1002, 998, 1000};
    row.utilisation = 0.5;
    return row;
}

static Verdicts judge(const std::vector<Row> &rows, bool times = true, const std::vector<uint64_t> &shares = {})
{
    return judge_latency({rows, Samples(shares), times});
}

TEST(LatencyChecks, AllChecksHoldForGoodRows)
{
    const Verdicts verdicts = judge({flood_row("unbounded", 30'000, 1'000), flood_row("inline", 20, 5)});
    EXPECT_FALSE(any_failed(verdicts)) << verdict_text(verdicts);
    EXPECT_EQ(outcome_of(verdicts, "inline in the flood: the callbacks' share"), Outcome::held);
}

TEST(LatencyChecks, LateDaemonFails)
{
    const std::vector<Row> rows = {flood_row("unbounded", 30'000, 1'000), flood_row("daemon", 3'001, 500)};
    Verdicts verdicts = judge(rows);
    EXPECT_EQ(outcome_of(verdicts, "daemon in the flood: at most a tenth as many callbacks begin late"),
              Outcome::failed);
    EXPECT_EQ(outcome_of(verdicts, "daemon in the flood: the callbacks' share"), Outcome::failed);
    verdicts = judge(rows, false);
    EXPECT_EQ(outcome_of(verdicts, "daemon in the flood: at most a tenth as many callbacks begin late"),
              Outcome::failed)
        << "counts are judged in a quick run too";
    EXPECT_EQ(outcome_of(verdicts, "daemon in the flood: the callbacks' share"), Outcome::not_judged);
}

TEST(LatencyChecks, TooFewSamplesForAQuantileAreReported)
{
    std::vector<Row> rows = {flood_row("unbounded", 30'000, 1'000), flood_row("inline", 20, 5)};
    rows[1].samples = 9'999;
    rows[1].callback_share_us_p999 = std::nullopt;
    for (const Verdict &verdict : judge(rows)) {
        if (verdict.claim.find("inline in the flood: the callbacks' share") == std::string::npos)
            continue;
        EXPECT_EQ(verdict.outcome, Outcome::not_judged);
        EXPECT_EQ(verdict.figures, "9,999 samples of the 10,000 that p99.9 needs");
    }
}

TEST(LatencyChecks, ShortDelayOfUnboundedIsNotReproduced)
{
    const Verdicts verdicts = judge({flood_row("unbounded", 900, 399)});
    EXPECT_EQ(outcome_of(verdicts, "delay the probe by 400"), Outcome::not_reproduced);
    EXPECT_EQ(outcome_of(verdicts, "begins thousands"), Outcome::not_reproduced);
    EXPECT_FALSE(any_failed(verdicts));
}

TEST(LatencyChecks, TimelyKrcud0IsNotReproduced)
{
    const char *claim = "bhlimit 0 has no daemon";
    Row row = flood_row("krcud-0", 30'000, 1'000);
    row.backlog_max = 30'000;
    EXPECT_EQ(outcome_of(judge({row}), claim), Outcome::held);
    row.overrun_callbacks_max = 256;
    EXPECT_EQ(outcome_of(judge({row}), claim), Outcome::not_reproduced);
}

TEST(LatencyChecks, ThrottleWithAConstantBacklogIsNotReproduced)
{
    const char *claim = "throttle-16 in the flood has its known weakness";
    Row row = flood_row("throttle-16", 16, 5);
    row.backlog_max = 54'000;
    EXPECT_EQ(outcome_of(judge({row}), claim), Outcome::held);
    row.backlog_max = flood_burst;
    EXPECT_EQ(outcome_of(judge({row}), claim), Outcome::not_reproduced);
}

TEST(LatencyChecks, BacklogBeyondQmaxFailsAlsoInAQuickRun)
{
    Row row = flood_row("daemon", 0, 0);
    row.backlog_max = 119'856;
    row.backlog_limit = 65'536;
    EXPECT_EQ(outcome_of(judge({flood_row("unbounded", 30'000, 1'000), row}, false), "within qmax"), Outcome::failed);
    row.backlog_max = 65'536;
    EXPECT_EQ(outcome_of(judge({flood_row("unbounded", 30'000, 1'000), row}, false), "within qmax"), Outcome::held);
}

TEST(LatencyChecks, RefusedDirectCallIsNotReproduced)
{
    const char *claim = "direct in the flood runs each callback immediately";
    Row row = flood_row("direct", 0, 0);
    row.backlog_max = 0;
    row.callbacks_direct = 1'000;
    row.direct_refused = 0;
    EXPECT_EQ(outcome_of(judge({row}), claim), Outcome::held);
    row.direct_refused = 1;
    EXPECT_EQ(outcome_of(judge({row}), claim), Outcome::not_reproduced);
}

TEST(LatencyChecks, DelayBeyondTheCallbacksTimeIsNotReproduced)
{
    Row row = flood_row("unbounded", 30'000, 1'000);
    row.callback_ns = 40;
    row.batch_max = 30'000;
    row.callback_share_us_full = 1'100;
    EXPECT_EQ(outcome_of(judge({row}), "callbacks x callback time"), Outcome::held);
    row.callback_share_us_full = 2'500;
    EXPECT_EQ(outcome_of(judge({row}), "callbacks x callback time"), Outcome::not_reproduced);
}

TEST(LatencyChecks, FloodWithoutBatchesAtADueTimeIsNotJudged)
{
    const char *claim = "callbacks x callback time";
    Row row = flood_row("unbounded", 30'000, 1'000);
    row.batch_max = 30'000;
    EXPECT_EQ(figures_of(judge({row}), claim), "no callback was timed");
    row.callback_ns = 40;
    EXPECT_EQ(outcome_of(judge({row}), claim), Outcome::not_judged);
    EXPECT_EQ(figures_of(judge({row}), claim), "no sample was due during a batch");
}

TEST(LatencyChecks, VerdictsShowThePublishedFigures)
{
    Row row = flood_row("unbounded", 1'660, 60);
    row.burst = 1'660;
    row.callback_ns = 40;
    row.batch_max = 1'660;
    row.callback_share_us_full = 60;
    const Verdicts verdicts = judge({row, flood_row("unbounded", 30'000, 1'000)});
    EXPECT_NE(figures_of(verdicts, "bursts of 1,660").find("2004: 1,660 callbacks, 711 µs"), std::string::npos);
    EXPECT_NE(figures_of(verdicts, "delay the probe").find("2004: over 400 µs"), std::string::npos);
}

TEST(LatencyChecks, InlineFailsIfMoreThanOneClockIntervalOfCallbacksIsLate)
{
    const std::vector<Row> rows = {flood_row("unbounded", 30'000, 1'000),
                                   flood_row("inline", clock_check_worth + 4, 5)};
    EXPECT_EQ(outcome_of(judge(rows), "inline stops at its first clock check"), Outcome::failed);
}

TEST(LatencyChecks, LatenessDueToInlineCallbacksIsJudgedAtP9999)
{
    const std::vector<Row> rows = {flood_row("inline", 20, 5)};
    const char *claim = "inline: the callbacks' share";
    std::vector<uint64_t> shares(100'000, 0);
    std::fill_n(shares.begin(), 100, 9'900);
    EXPECT_EQ(outcome_of(judge(rows, true, shares), claim), Outcome::held);
    std::fill_n(shares.begin(), 100, 10'100);
    EXPECT_EQ(outcome_of(judge(rows, true, shares), claim), Outcome::failed);
    std::fill(shares.begin() + 10, shares.end(), 0);
    EXPECT_EQ(outcome_of(judge(rows, true, shares), claim), Outcome::held)
        << "ten of 100,000 samples are above the percentile";
    EXPECT_EQ(outcome_of(judge(rows, true, std::vector<uint64_t>(99'999, 0)), claim), Outcome::not_judged);
}

// A row with @share of the operations per second of CPU time of a flood_row(); its rounds vary by 0.2 % around it.
static Row row_of_share(const char *policy, double share)
{
    Row row = flood_row(policy, 20, 5);
    row.ops_per_cpu_s = 1000 * share;
    for (double &each : row.each_ops_per_cpu_s)
        each *= share;
    return row;
}

TEST(LatencyChecks, LostThroughputFailsOnlyForOurPolicies)
{
    const Row stock = flood_row("unbounded", 30'000, 1'000);
    const char *claim = "operations per second of CPU time";
    EXPECT_EQ(outcome_of(judge({stock, row_of_share("inline", 0.93)}), claim), Outcome::failed);
    EXPECT_EQ(outcome_of(judge({stock, row_of_share("krcud", 0.93)}), claim), Outcome::not_reproduced);
    EXPECT_EQ(outcome_of(judge({stock, row_of_share("inline", 0.97)}), claim), Outcome::held);
    EXPECT_EQ(outcome_of(judge({stock, row_of_share("inline", 0.93)}, false), claim), Outcome::not_judged);
}

TEST(LatencyChecks, ThroughputWhoseSpreadCoversTheBarIsNotJudged)
{
    Row row = row_of_share("inline", 1);
    row.each_ops_per_cpu_s = {900, 1000, 910, 990, 920, 980};
    EXPECT_EQ(outcome_of(judge({flood_row("unbounded", 30'000, 1'000), row}), "operations per second of CPU time"),
              Outcome::not_judged);
}

TEST(LatencyChecks, ControlAffectedByAPolicyIsNotReproduced)
{
    Row floor = flood_row("none", 0, 0), row = flood_row("daemon", 0, 0);
    floor.probe = row.probe = "thread";
    floor.each_p99_us = {10, 11, 10, 12, 10};
    row.each_p99_us = {20, 21, 22, 20, 21};
    EXPECT_EQ(outcome_of(judge({floor, row}), "the control"), Outcome::held);
    row.each_p99_us = {50, 51, 52, 50, 61};
    EXPECT_EQ(outcome_of(judge({floor, row}), "the control"), Outcome::not_reproduced);
    row.each_p99_us.resize(2);
    EXPECT_EQ(outcome_of(judge({floor, row}), "the control"), Outcome::not_judged);
    EXPECT_EQ(figures_of(judge({floor, row}), "the control"), "2 rounds of the 5 that a spread needs");
}

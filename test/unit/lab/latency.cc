// SPDX-License-Identifier: MIT OR Apache-2.0
// The latency experiment's plan, the shape of its rows, and that its checks can fail.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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

TEST(Plan, TheFloorIsAlwaysPartOfIt)
{
    PlanOptions options;
    options.workloads = {"route"};
    options.policies = {"inline"};
    std::vector<Variant> plan = plan_of(options);
    ASSERT_EQ(plan.size(), 2u);
    EXPECT_EQ(plan[0].label(), "route none");
    EXPECT_EQ(plan[1].label(), "route inline");
}

TEST(Plan, FloodHasTheSizesOfTheDocuments)
{
    PlanOptions options;
    options.workloads = {"flood"};
    options.policies = {"unbounded"};
    std::vector<uint64_t> bursts;
    for (const Variant &variant : plan_of(options))
        bursts.push_back(variant.burst);
    EXPECT_EQ(bursts, (std::vector<uint64_t>{30'000, 30'000, 1'660, 10'000}));
}

TEST(Plan, WrongNamesAreRefusedWithTheRightOnes)
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
    EXPECT_NE(error.find("dcache, route, flood"), std::string::npos);
}

static Variant variant_of(const char *policy)
{
    return {"flood", find_policy(policy), flood_burst, true, 1};
}

TEST(Rows, HaveEveryKeyAndNullWhereSamplesAreTooFew)
{
    VariantRecord record(2'000, 2'000);
    for (uint32_t i = 0; i < 1'000; i++)
        record.loop.push({1000 * (i + 1), 0, 0, 0});
    record.loop.push({5'000'000, 300'000, 200'000, 4'000});
    record.sum().rounds = 1;
    record.sum().fifo = true;
    record.sum().wall_ns = 2'000'000'000;
    record.sum().loop_cpu_ns = 1'000'000'000;
    record.sum().operations = 10'000;
    record.sum().callbacks = 123;
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
                            "backlog_max",
                            "ops_per_s"})
        EXPECT_TRUE(row.contains(key)) << key;
    for (const auto &[key, value] : row.items())
        EXPECT_TRUE(value.is_primitive()) << key << ": rows are flat";
    EXPECT_EQ(row["samples"], 1001);
    EXPECT_DOUBLE_EQ(row["p50_us"].get<double>(), 501);
    EXPECT_TRUE(row["p999_us"].is_null());
    EXPECT_TRUE(row["floor_p99_us"].is_null());
    EXPECT_DOUBLE_EQ(row["max_us"].get<double>(), 5000);
    EXPECT_DOUBLE_EQ(row["overrun_us_max"].get<double>(), 300);
    EXPECT_EQ(row["overrun_callbacks_max"], 4000);
    EXPECT_DOUBLE_EQ(row["ops_per_s"].get<double>(), 5000);
    EXPECT_DOUBLE_EQ(row["utilisation"].get<double>(), 0.5);
}

TEST(Rows, TheFloorIsThatOfTheSameWorkloadAndProbe)
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

static Row flood_row(const char *policy, double late, double overrun_us)
{
    Row row;
    row.workload = "flood";
    row.policy = policy;
    row.label = std::string("flood ") + policy;
    row.probe = "loop";
    row.scheduling = "fifo";
    row.burst = flood_burst;
    row.overrun_callbacks_max = late;
    row.overrun_us_max = row.overrun_us_p999 = row.overrun_cpu_us_p999 = overrun_us;
    row.ops_per_s = 1000;
    row.utilisation = 0.5;
    return row;
}

TEST(Checks, AGoodRunHolds)
{
    Samples none;
    std::vector<Row> rows = {flood_row("unbounded", 30'000, 1'000), flood_row("inline", 20, 5)};
    auto verdicts = judge_latency({rows, none, none, true});
    EXPECT_FALSE(any_failed(verdicts)) << verdict_text(verdicts);
}

TEST(Checks, ACureThatRunsLateFails)
{
    Samples none;
    std::vector<Row> rows = {flood_row("unbounded", 30'000, 1'000), flood_row("daemon", 3'001, 500)};
    auto verdicts = judge_latency({rows, none, none, true});
    EXPECT_EQ(outcome_of(verdicts, "daemon in the flood: callbacks begun late"), Outcome::failed);
    EXPECT_EQ(outcome_of(verdicts, "daemon in the flood: overrun"), Outcome::failed);
    verdicts = judge_latency({rows, none, none, false});
    EXPECT_EQ(outcome_of(verdicts, "daemon in the flood: callbacks begun late"), Outcome::failed)
        << "counts are judged in a quick run too";
    EXPECT_EQ(outcome_of(verdicts, "daemon in the flood: overrun"), Outcome::not_judged);
}

TEST(Checks, InlineBeyondOneCheckFails)
{
    Samples none;
    std::vector<Row> rows = {flood_row("unbounded", 30'000, 1'000), flood_row("inline", clock_check_worth + 4, 5)};
    auto verdicts = judge_latency({rows, none, none, true});
    EXPECT_EQ(outcome_of(verdicts, "inline begins no callback"), Outcome::failed);
}

TEST(Checks, TheDeadlineBarAllowsOneInterruptAndNoMore)
{
    std::vector<Row> rows = {flood_row("unbounded", 30'000, 1'000), flood_row("inline", 20, 5)};
    std::vector<uint64_t> overruns(100'000, 0);
    Samples interrupts(std::vector<uint64_t>(100, 20'000));
    std::fill_n(overruns.begin(), 100, 29'000);
    EXPECT_EQ(outcome_of(judge_latency({rows, Samples(overruns), interrupts, true}), "inline overruns by"),
              Outcome::held);
    std::fill_n(overruns.begin(), 100, 31'000);
    EXPECT_EQ(outcome_of(judge_latency({rows, Samples(overruns), interrupts, true}), "inline overruns by"),
              Outcome::failed);
    std::fill(overruns.begin() + 10, overruns.end(), 0);
    EXPECT_EQ(outcome_of(judge_latency({rows, Samples(overruns), interrupts, true}), "inline overruns by"),
              Outcome::held)
        << "ten in a hundred thousand lie beyond p99.99";
    EXPECT_EQ(outcome_of(judge_latency({rows, Samples(std::vector<uint64_t>(99'999, 0)), interrupts, true}),
                         "inline overruns by"),
              Outcome::not_judged);
}

TEST(Checks, LostThroughputFails)
{
    Samples none;
    std::vector<Row> rows = {flood_row("unbounded", 30'000, 1'000), flood_row("inline", 20, 5)};
    rows[1].ops_per_s = 940;
    EXPECT_EQ(outcome_of(judge_latency({rows, none, none, true}), "flood inline: throughput"), Outcome::failed);
    rows[1].ops_per_s = 960;
    EXPECT_EQ(outcome_of(judge_latency({rows, none, none, true}), "flood inline: throughput"), Outcome::held);
}

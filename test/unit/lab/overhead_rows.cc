// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of `rtrcu overhead`: the published tables, the rows and tables of a run, and its verdicts.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "overhead/checks.h"
#include "overhead/tables.h"
#include "verdicts.h"

using namespace lab;
using namespace lab::overhead;

static std::vector<double> sums_of(const std::string &environment)
{
    std::vector<double> sums;
    for (const PublishedEngine &engine : published_engines())
        sums.push_back(published_sum(environment, engine));
    return sums;
}

TEST(OverheadPublished, SumsOfLookUpAndRcuWorkEqualThePublishedSums)
{
    EXPECT_EQ(sums_of("rare"), (std::vector<double>{4486, 2045, 2231, 2505}));
    EXPECT_EQ(sums_of("frequent"), (std::vector<double>{2358, 2068, 2769, 12'049}));
}

// The published ticks of base, ltimer, sched and poll, in this order; -1 if a cell is empty.
static std::vector<double> ticks_of(const std::string &environment, const std::string &function)
{
    for (const PublishedRow &row : published_rows(environment))
        if (row.function == function)
            return {row.base.value_or(-1), row.ltimer.value_or(-1), row.sched.value_or(-1), row.poll.value_or(-1)};
    return {};
}

TEST(OverheadPublished, PublishedTicksAreListedInTheColumnOfTheirEngine)
{
    using Ticks = std::vector<double>;
    EXPECT_EQ(ticks_of("rare", "rcu_process_callbacks"), (Ticks{-1, 4, -1, 128}));
    EXPECT_EQ(ticks_of("frequent", "rcu_process_callbacks"), (Ticks{-1, 49, -1, 2778}));
    EXPECT_EQ(ticks_of("rare", "rcu_invoke_callbacks"), (Ticks{-1, 4, -1, 24}));
    EXPECT_EQ(ticks_of("frequent", "rcu_invoke_callbacks"), (Ticks{-1, 57, -1, 488}));
    EXPECT_EQ(ticks_of("rare", "rcu_batch_done"), (Ticks{-1, -1, 1, -1}));
    EXPECT_EQ(ticks_of("frequent", "rcu_batch_done"), (Ticks{-1, -1, 3, -1}));
    EXPECT_EQ(ticks_of("frequent", "schedule"), (Ticks{294, -1, 849, 808}));
}

TEST(OverheadPublished, FunctionsAreMappedToPublishedCounterparts)
{
    const auto name = [](const char *function, Work work, bool polls = false) {
        const char *published = published_function(step_of(function, work), polls);
        return std::string(published != nullptr ? published : "");
    };
    EXPECT_EQ(name("route_packet", Work::lookup), "ip_route_output_key");
    EXPECT_EQ(name("cbqueue_push", Work::rcu), "call_rcu");
    EXPECT_EQ(name("GlobalQueue::lock", Work::rcu), "call_rcu");
    EXPECT_EQ(name("GlobalQueue::run", Work::rcu), "rcu_invoke_callbacks");
    EXPECT_EQ(name("callback_advance", Work::rcu), "rcu_process_callbacks");
    EXPECT_EQ(name("gp_scan", Work::rcu), "rcu_check_quiescent_state");
    EXPECT_EQ(name("gp_scan", Work::rcu, true), "rcu_polling");
    EXPECT_EQ(name("driver_pass", Work::rcu), "schedule");
    EXPECT_EQ(name("sched_yield", Work::update), "schedule")
        << "a context switch counts as schedule(), whatever its kind of work";
    EXPECT_EQ(name("lock_acquire", Work::rcu), "(no counterpart)");
    EXPECT_EQ(name("RouteCache::miss", Work::update), "");
}

static const Environment frequent{"frequent", {}, ""};

static void add_function(RoundResult &result, const char *name, Work work, uint64_t ticks)
{
    FunctionTicks &function = result.functions[result.function_count++];
    std::strcpy(function.name, name);
    function.work = work;
    function.ticks = ticks;
    result.samples += ticks;
}

static RoundResult result_of(uint64_t packets, int64_t cpu_ns)
{
    RoundResult result{};
    result.packets = packets;
    result.misses = result.expired = result.callbacks = packets / 5;
    result.wall_ns = 1'000'000'000;
    result.process_cpu_ns = cpu_ns;
    result.forwarder_cpu_ns = cpu_ns - cpu_ns / 10;
    result.sampled_all_threads = true;
    return result;
}

static Total total_of(const char *label, const RoundResult &result)
{
    Total total;
    total.engine = find_engine(label);
    total.environment = &frequent;
    total.add(result);
    return total;
}

// 100 ns of CPU time per packet, in 1,000 samples: a sample is 0.1 ns per packet.
static RoundResult usual_result()
{
    RoundResult result = result_of(1'000'000, 100'000'000);
    add_function(result, "route_packet", Work::lookup, 600);
    add_function(result, "rtrcu_call", Work::rcu, 250);
    add_function(result, "driver_pass", Work::rcu, 50);
    add_function(result, "sched_yield", Work::update, 100);
    return result;
}

TEST(OverheadRows, SharesOfSamplesAreSharesOfCpuTime)
{
    const Row row = make_row(total_of("ltimer", usual_result()));
    EXPECT_DOUBLE_EQ(*row.cpu_ns_per_packet, 100);
    EXPECT_DOUBLE_EQ(*row.lookup_ns, 60);
    EXPECT_DOUBLE_EQ(*row.rcu_ns, 30) << "the driver's time is included";
    EXPECT_DOUBLE_EQ(*row.schedule_ns, 15) << "the driver's time and the context switches";
    EXPECT_DOUBLE_EQ(*row.document_ns, 85) << "without the driver and the context switches";
    EXPECT_DOUBLE_EQ(*row.rcu_threads_ns, 10);
    EXPECT_DOUBLE_EQ(*row.call_rcu_ns, 125) << "per callback, of 200,000";
    EXPECT_DOUBLE_EQ(*row.call_rcu_samples, 250);
    EXPECT_DOUBLE_EQ(*row.rcu_samples, 300);
    EXPECT_DOUBLE_EQ(*row.document_samples, 850);
    EXPECT_DOUBLE_EQ(*row.misses, 200'000);
    EXPECT_DOUBLE_EQ(*row.deleted, 200'000);
    EXPECT_DOUBLE_EQ(*row.callbacks_per_s, 200'000);
}

// If only forwarding threads were sampled, the CPU time of the other threads counts as RCU work.
TEST(OverheadRows, UnsampledTimeCountsAsRcuWork)
{
    Total total = total_of("ltimer", usual_result());
    total.sampled_all_threads = false;
    const Row row = make_row(total);
    EXPECT_DOUBLE_EQ(*row.lookup_ns, 54);
    EXPECT_DOUBLE_EQ(*row.rcu_ns, 37);
    EXPECT_DOUBLE_EQ(*row.document_ns, 86.5);
}

TEST(OverheadRows, CounterpartsAreInPublishedTicks)
{
    RoundResult base = result_of(1'000'000, 100'000'000);
    add_function(base, "route_packet", Work::lookup, 1000);
    const std::vector<Total> totals = {total_of("base", base), total_of("ltimer", usual_result())};
    Figure lookup, queueing;
    for (const CounterpartRow &row : counterpart_rows(totals, "frequent"))
        if (row.label == "ltimer" && row.published == "ip_route_output_key")
            lookup = row.ticks_as_published;
        else if (row.label == "ltimer" && row.published == "call_rcu")
            queueing = row.ticks_as_published;
    EXPECT_DOUBLE_EQ(lookup.value_or(0), 2358 * 0.6);
    EXPECT_DOUBLE_EQ(queueing.value_or(0), 2358 * 0.25);
}

TEST(OverheadRows, FreeCpuVariantLeavesOneCpuWithoutForwardingThread)
{
    RoundOptions options;
    options.cpus = {0, 1, 2};
    options.threads = 3;
    EXPECT_EQ(cpus_for(*find_engine("poll"), options), (std::vector<int>{0, 1, 2}));
    EXPECT_EQ(threads_for(*find_engine("poll"), options), 3u);
    EXPECT_EQ(cpus_for(*find_engine("poll/free CPU"), options), (std::vector<int>{0, 1}));
    EXPECT_EQ(threads_for(*find_engine("poll/free CPU"), options), 2u);
}

TEST(OverheadRows, GainIsRelativeToTheBaseWithEqualThreads)
{
    std::vector<Row> rows;
    const std::pair<const char *, int64_t> cpu_ns[] = {
        {"base", 200}, {"base/one lock", 400}, {"base/free CPU", 100}, {"poll", 150}, {"poll/free CPU", 150}};
    for (const auto &[label, ns] : cpu_ns)
        rows.push_back(make_row(total_of(label, result_of(1'000'000, ns * 1'000'000))));
    fill_gains(rows);
    EXPECT_DOUBLE_EQ(*rows[3].net_gain_pct, 25);
    EXPECT_DOUBLE_EQ(*rows[3].net_gain_one_lock_pct, 62.5);
    EXPECT_DOUBLE_EQ(*rows[4].net_gain_pct, -50);
    EXPECT_FALSE(rows[4].net_gain_one_lock_pct);
}

TEST(OverheadTables, CallRcuHasARowEvenWithFewTicks)
{
    RoundResult result = usual_result();
    for (int i = 0; i < 100; i++)
        add_function(result, ("RouteCache::f" + std::to_string(i)).c_str(), Work::update, 1000);
    add_function(result, "callback_enqueue", Work::rcu, 1);
    const std::vector<Total> totals = {total_of("ltimer", result)};
    const std::string table = function_table(totals, "frequent");
    EXPECT_NE(table.find("callback_enqueue"), std::string::npos) << table;
    EXPECT_NE(table.find(" others"), std::string::npos) << table;
    EXPECT_NE(side_by_side_table(totals, "frequent").find("call_rcu"), std::string::npos);
}

// A row of five rounds that vary by up to 4 % around these figures. Rows in `falling` fall while the others rise.
static Row row_of(const char *label, const char *environment, double cpu_ns, double rcu_ns, double document_ns,
                  double call_rcu_ns = 0)
{
    Row row;
    row.label = label;
    row.environment = environment;
    const std::set<std::string> falling = {"base", "sched", "poll", "poll/free CPU"};
    for (const double percent : {-4, -2, 0, 2, 4}) {
        const double factor = 1 + (falling.count(label) != 0 ? -percent : percent) / 100;
        row.each.push_back(
            {cpu_ns * factor, rcu_ns * factor, document_ns * factor, call_rcu_ns * factor, {}, 0.2 * factor});
    }
    row.call_rcu_samples = row.rcu_samples = row.document_samples = 1000;
    row.misses = row.deleted = 200'000;
    if (std::strncmp(label, "base", 4) != 0)
        row.callbacks_per_s = 1000;
    return row;
}

// Rows for which every conclusion of the paper of 2002 holds.
static std::vector<Row> rows_of_2002()
{
    return {row_of("base", "rare", 100, 0, 45),
            row_of("ltimer", "rare", 70, 1, 20),
            row_of("sched/global counter", "rare", 70, 2, 22),
            row_of("poll/global queue", "rare", 80, 5, 25),
            row_of("kthread", "rare", 70, 1, 20),
            row_of("base", "frequent", 100, 0, 24),
            row_of("ltimer", "frequent", 95, 4, 21),
            row_of("kthread", "frequent", 80, 4, 21),
            row_of("sched", "frequent", 95, 9, 25, 20),
            row_of("sched/global counter", "frequent", 95, 12, 28, 60),
            row_of("poll", "frequent", 100, 50, 80),
            row_of("poll/global queue", "frequent", 120, 100, 120),
            row_of("poll/free CPU", "frequent", 100, 50, 80),
            row_of("poll/global queue, free CPU", "frequent", 120, 100, 120)};
}

static Verdicts judge(const std::vector<Row> &rows, bool times = true)
{
    Verdicts all = judge_bars({rows, times});
    for (const Verdict &verdict : judge_conclusions({rows, times}))
        all.push_back(verdict);
    return all;
}

static Outcome outcome_with(const Row &changed, const std::string &claim)
{
    std::vector<Row> rows = rows_of_2002();
    for (Row &row : rows)
        if (row.label == changed.label && row.environment == changed.environment)
            row = changed;
    return outcome_of(judge(rows), claim);
}

TEST(OverheadChecks, AllChecksHoldForTheFiguresOf2002)
{
    for (const Verdict &verdict : judge(rows_of_2002()))
        EXPECT_EQ(verdict.outcome, Outcome::held) << verdict.claim << ": " << verdict.figures;
}

TEST(OverheadChecks, CostNotClearlyBelowTheBaseIsNotReproduced)
{
    EXPECT_EQ(outcome_with(row_of("ltimer", "frequent", 95, 4, 30), "1. RCU"), Outcome::not_reproduced);
    EXPECT_EQ(outcome_with(row_of("ltimer", "frequent", 95, 4, 23.5), "1. RCU"), Outcome::not_reproduced)
        << "lower, but inside the spread";
}

TEST(OverheadChecks, CostlierDefaultDriverIsNotReproduced)
{
    EXPECT_EQ(outcome_with(row_of("kthread", "frequent", 120, 4, 21), "in total CPU time"), Outcome::not_reproduced);
    EXPECT_EQ(outcome_with(row_of("kthread", "frequent", 98, 4, 21), "in total CPU time"), Outcome::not_reproduced);
}

TEST(OverheadChecks, MostEnginesMeansTwoOfThree)
{
    std::vector<Row> rows = rows_of_2002();
    rows[1] = row_of("ltimer", "rare", 70, 1, 44.5); // inside the spread
    EXPECT_EQ(outcome_of(judge(rows), "2. when"), Outcome::held);
    rows[2] = row_of("sched/global counter", "rare", 70, 2, 60);
    EXPECT_EQ(outcome_of(judge(rows), "2. when"), Outcome::not_reproduced);
    rows.erase(rows.begin() + 3);
    EXPECT_EQ(outcome_of(judge(rows), "2. when"), Outcome::not_judged) << "one of the three engines is missing";
}

TEST(OverheadChecks, GlobalQueueIsComparedWithPerThreadQueues)
{
    EXPECT_EQ(outcome_with(row_of("poll", "frequent", 100, 140, 150), "with all CPUs"), Outcome::not_reproduced);
    EXPECT_EQ(outcome_with(row_of("poll", "frequent", 100, 98, 150), "with all CPUs"), Outcome::not_reproduced)
        << "the global queue costs more, but inside the spread";
    EXPECT_EQ(outcome_with(row_of("poll/free CPU", "frequent", 100, 98, 150), "kept free"), Outcome::not_reproduced);
}

TEST(OverheadChecks, GlobalCounterIsComparedWithTheSameEngineWithoutIt)
{
    const char *label = "sched/global counter";
    EXPECT_EQ(outcome_with(row_of(label, "frequent", 95, 12, 28, 20.5), "4. the global"), Outcome::not_reproduced);
    EXPECT_EQ(outcome_with(row_of(label, "frequent", 95, 12, 28, 10), "4. the global"), Outcome::not_reproduced);
    Row few = row_of(label, "frequent", 95, 12, 28, 60);
    few.call_rcu_samples = 399;
    EXPECT_EQ(outcome_with(few, "4. the global"), Outcome::not_judged);
}

TEST(OverheadChecks, CostBeyondTheBarFailsOnlyOutsideTheSpread)
{
    EXPECT_EQ(outcome_with(row_of("kthread", "rare", 110, 1, 20), "updates rare"), Outcome::failed);
    EXPECT_EQ(outcome_with(row_of("kthread", "rare", 99, 1, 20), "updates rare"), Outcome::not_reproduced);
}

TEST(OverheadChecks, TimesOfFewRoundsAreNotJudged)
{
    std::vector<Row> rows = rows_of_2002();
    for (const Verdict &verdict : judge(rows, false))
        EXPECT_TRUE(verdict.outcome == Outcome::not_judged || verdict.figures.find("ns against") == std::string::npos)
            << verdict.claim;
    for (Row &row : rows)
        row.each.pop_back();
    const Verdicts verdicts = judge(rows);
    for (const char *claim : {"same work", "1. RCU", "in total CPU time", "2. when", "with all CPUs", "kept free",
                              "4. the global", "updates rare"})
        EXPECT_EQ(outcome_of(verdicts, claim), Outcome::not_judged) << claim;
    EXPECT_NE(verdict_text(verdicts).find("rounds: 4 of the 5"), std::string::npos);
}

TEST(OverheadChecks, DifferentAmountOfWorkFailsOutsideTheSpread)
{
    const char *claim = "same work";
    EXPECT_EQ(outcome_of(judge(rows_of_2002(), false), claim), Outcome::held);
    std::vector<Row> rows = rows_of_2002();
    auto misses = [&](std::size_t row, std::vector<double> each) {
        for (std::size_t i = 0; i < each.size(); i++)
            rows[row].each[i].misses_per_packet = each[i];
    };
    misses(6, {0.40, 0.41, 0.42, 0.41, 0.40});
    EXPECT_EQ(outcome_of(judge(rows), claim), Outcome::failed);
    misses(6, {0.10, 0.11, 0.10, 0.11, 0.10});
    EXPECT_EQ(outcome_of(judge(rows), claim), Outcome::failed) << "less work fails too";
    misses(6, {0.20, 0.30, 0.20, 0.30, 0.20});
    EXPECT_EQ(outcome_of(judge(rows), claim), Outcome::not_judged) << "the spread covers the bound";
    misses(7, {0.40, 0.41, 0.42, 0.41, 0.40});
    EXPECT_EQ(outcome_of(judge(rows), claim), Outcome::failed) << "one variant is beyond the bound";
}

TEST(OverheadChecks, EngineWithoutInvocationsFailsInAQuickRun)
{
    std::vector<Row> rows = rows_of_2002();
    rows[8].callbacks_per_s = 0;
    EXPECT_EQ(outcome_of(judge(rows, false), "invoked callbacks"), Outcome::failed);
}

// A claim that is judged by samples of the profile: a row of rows_of_2002() that it compares, and the count of samples
// that it needs.
struct BySamples {
    const char *claim;
    std::size_t row;
    Count Row::*samples;
    const char *where;
};

static const BySamples by_samples[] = {
    {"1. RCU", 6, &Row::document_samples, "look-up and RCU work"},
    {"2. when", 3, &Row::document_samples, "look-up and RCU work"},
    {"with all CPUs", 10, &Row::rcu_samples, "RCU work"},
    {"kept free", 12, &Row::rcu_samples, "RCU work"},
    {"4. the global", 8, &Row::call_rcu_samples, "call_rcu()"},
};

TEST(OverheadChecks, TooFewSamplesAreNotJudgedButReported)
{
    for (const BySamples &one : by_samples) {
        std::vector<Row> rows = rows_of_2002();
        rows[one.row].*one.samples = 399;
        const Verdicts verdicts = judge(rows);
        EXPECT_EQ(outcome_of(verdicts, one.claim), Outcome::not_judged) << one.claim;
        const std::string text = std::string("only 399 of the 400 profile samples needed in ") + one.where;
        EXPECT_NE(figures_of(verdicts, one.claim).find(text), std::string::npos) << verdict_text(verdicts);
    }
}

TEST(OverheadChecks, MissingSampleCountIsZero)
{
    for (const BySamples &one : by_samples) {
        std::vector<Row> rows = rows_of_2002();
        rows[one.row].*one.samples = std::nullopt;
        const Verdicts verdicts = judge(rows);
        EXPECT_EQ(outcome_of(verdicts, one.claim), Outcome::not_judged) << one.claim;
        EXPECT_NE(figures_of(verdicts, one.claim).find("; only 0 of the 400"), std::string::npos) << one.claim;
    }
}

TEST(OverheadChecks, SameWorkNeedsMissesAndTwoVariants)
{
    const char *claim = "same work";
    std::vector<Row> rows = rows_of_2002();
    rows[6].misses = 999;
    EXPECT_EQ(outcome_of(judge(rows), claim), Outcome::not_judged);
    EXPECT_EQ(figures_of(judge(rows), claim), "only 999 of the 1,000 misses that each variant needs");
    rows[6].misses = std::nullopt;
    EXPECT_EQ(figures_of(judge(rows), claim), "only 0 of the 1,000 misses that each variant needs");
    EXPECT_EQ(figures_of(judge({row_of("base", "frequent", 100, 0, 24)}), claim),
              "only 1 of the 2 variants that a comparison needs");
    EXPECT_EQ(outcome_of(judge({}), claim), Outcome::not_judged) << "the verdict is present even without rows";
}

TEST(OverheadChecks, EngineWithoutDeletionsNeedsNoInvocations)
{
    const char *claim = "invoked callbacks";
    std::vector<Row> rows = rows_of_2002();
    rows[10].callbacks_per_s = rows[10].deleted = 0;
    EXPECT_EQ(outcome_of(judge(rows), claim), Outcome::not_judged);
    EXPECT_NE(figures_of(judge(rows), claim).find("; 0 entries deleted by poll"), std::string::npos);
    rows[8].callbacks_per_s = 0;
    EXPECT_EQ(outcome_of(judge(rows), claim), Outcome::failed)
        << "another engine deleted entries and invoked no callbacks";
    EXPECT_EQ(outcome_of(judge({row_of("base", "frequent", 100, 0, 24)}), claim), Outcome::not_judged);
}

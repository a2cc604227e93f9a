// SPDX-License-Identifier: MIT OR Apache-2.0
// The expedited experiment's verdicts.
#include "expedited/checks.h"

#include <fmt/format.h>

#include "expedited/rows.h"
#include "report/table.h"

namespace lab::expedited
{
namespace
{

// Quiet: the mean; the maximum there, and both beside outside load.
constexpr double mean_down_by_pct = -94, down_by_pct = -98;
constexpr double p99_limit_ns = 1e6;
constexpr double p50_share_of_liburcu = 1.0 / 50;
constexpr double rates_equal = 0.9, throughput_kept = 0.95;

std::string ns_text(const Figure &ns)
{
    return number(scaled(ns, 1e-3)) + " µs";
}

// Maximum and mean, workqueue against kthread.  With boosting, as the document had it, it is a bar.
void judge_worker(const Plan &plan, Group group, bool times, bool boost, Verdicts &verdicts)
{
    const Summary before = summary_of(find_cell(plan, group, Call::expedited, 0, boost, true));
    const Summary after = summary_of(find_cell(plan, group, Call::expedited, 0, boost, false));
    const Outcome otherwise = boost ? Outcome::failed : Outcome::not_reproduced;
    struct {
        const char *name;
        Compared Summary::*figure;
        double bar_pct;
    } const figures[] = {{"maximum", &Summary::max_ns, down_by_pct},
                         {"mean", &Summary::avg_ns, group == Group::loaded ? down_by_pct : mean_down_by_pct}};
    for (const auto &[name, figure, bar_pct] : figures) {
        const Figure diff = diff_pct(before.*figure, after.*figure);
        verdicts.push_back({judged(times && diff, diff.value_or(0) <= bar_pct, otherwise),
                            fmt::format("kthread against workqueue, {}, {}: the {} is down by {} % or more",
                                        group == Group::loaded ? "loaded" : "quiet",
                                        boost ? "with boosting" : "without boosting", name, -bar_pct),
                            fmt::format("{} -> {}, {} %", ns_text(before.*figure), ns_text(after.*figure),
                                        diff ? fmt::format("{:+.2f}", *diff) : "-")});
    }
}

BusyRow busy(const Plan &plan, unsigned readers, Call call, bool boost)
{
    const Cell *cell = find_cell(plan, Group::busy, call, readers, boost);
    return cell != nullptr ? make_busy_row(*cell) : BusyRow();
}

void judge_busy(const Plan &plan, bool times, Verdicts &verdicts)
{
    const BusyRow ours = busy(plan, 16, Call::expedited, true), theirs = busy(plan, 16, Call::liburcu, false);
    verdicts.push_back(
        {judged(times && ours.p50_ns && theirs.p50_ns,
                ours.p50_ns.value_or(0) <= theirs.p50_ns.value_or(0) * p50_share_of_liburcu, Outcome::failed),
         "16 busy readers, with boosting: p50 is at most a fiftieth of liburcu-memb's",
         fmt::format("{} against {} ({} samples)", ns_text(ours.p50_ns), ns_text(theirs.p50_ns), whole(theirs.count))});
    for (unsigned readers : {16u, 64u}) {
        const BusyRow row = busy(plan, readers, Call::expedited, true);
        verdicts.push_back(
            {judged(times && row.p99_ns, row.p99_ns.value_or(0) <= p99_limit_ns, Outcome::failed),
             fmt::format("{} busy readers, with boosting: p99 is at most 1 ms", readers),
             fmt::format("{} over {} samples, max {}", ns_text(row.p99_ns), whole(row.count), ns_text(row.max_ns))});
    }
    const BusyRow plain = busy(plan, 64, Call::expedited, false);
    verdicts.push_back(
        {judged(times && plain.max_ns, plain.max_ns.value_or(0) >= 1e9, Outcome::not_reproduced),
         "64 busy readers, without boosting: grace periods take a second or more",
         fmt::format("p50 {}, max {}, {} of {} cut short by the end of the experiment", ns_text(plain.p50_ns),
                     ns_text(plain.max_ns), whole(plain.unfinished), whole(plain.count))});
}

void judge_throughput(const Plan &plan, unsigned cpus, bool times, Verdicts &verdicts)
{
    const std::vector<ThroughputRow> rows = throughput_rows(plan);
    for (const ThroughputRow &row : rows) {
        if (!*row.boost)
            continue;
        Figure without_rate;
        for (const ThroughputRow &other : rows)
            if (!*other.boost && *other.readers == *row.readers)
                without_rate = other.grace_periods_per_s;
        // The bar is about an equal rate of grace periods.  With more readers than CPUs the run without boosting
        // reaches a tenth of it, and has less to do: shown, not judged.
        const bool equal =
            without_rate && row.grace_periods_per_s && *without_rate >= rates_equal * *row.grace_periods_per_s;
        const char *which = row.readers == cpus ? "one busy reader a CPU" : "more than CPUs";
        verdicts.push_back(
            {judged(times && row.ratio && equal, row.ratio.value_or(0) >= throughput_kept, Outcome::failed),
             fmt::format("{} busy readers ({}), 1,000 requests a second: throughput with boosting is at "
                         "least 95 % of that without",
                         *row.readers, which),
             fmt::format("{} %; grace periods a second: {} with, {} without", number(scaled(row.ratio, 100)),
                         number(row.grace_periods_per_s), number(without_rate))});
    }
}

// Counts, which are judged in every run.
void judge_counts(const Plan &plan, Verdicts &verdicts)
{
    uint64_t errors = 0, calls = 0, refused = 0, boosts_off = 0, boosts_on = 0, ended = 0;
    for (const Cell &cell : plan.cells) {
        errors += cell.sum.errors;
        if (cell.variant.call != Call::expedited && cell.variant.call != Call::request)
            continue;
        for (const auto &experiment : cell.latency_ns)
            calls += experiment.size();
        ended += cell.sum.expedited;
        refused += cell.sum.rt_refused + cell.sum.boost_refused;
        if (!cell.variant.boost)
            boosts_off += cell.sum.boosts;
        else if (cell.group == Group::busy && cell.variant.readers >= 16)
            boosts_on += cell.sum.boosts;
    }
    verdicts.push_back({judged(true, errors == 0), "no reader saw a record after the grace period that retired it",
                        fmt::format("{} errors", errors)});
    verdicts.push_back({judged(true, calls != 0 && ended != 0), "calls returned and grace periods ended",
                        fmt::format("{} calls, {} expedited grace periods", calls, ended)});
    verdicts.push_back(
        {judged(true, boosts_off == 0 && boosts_on != 0),
         "readers were boosted where boosting is on and they outnumber the CPUs, and nowhere else",
         fmt::format("{} times with 16 readers and more, {} times with boosting off", boosts_on, boosts_off)});
    verdicts.push_back({judged(true, refused == 0), "the kernel refused no real-time scheduling and no boosting",
                        fmt::format("{} refusals", refused)});
}

} // namespace

Verdicts judge(const Plan &plan, unsigned cpus, bool judge_times)
{
    Verdicts verdicts;
    judge_counts(plan, verdicts);
    for (Group group : {Group::worker, Group::loaded})
        for (bool boost : {true, false})
            judge_worker(plan, group, judge_times, boost, verdicts);
    judge_busy(plan, judge_times, verdicts);
    judge_throughput(plan, cpus, judge_times, verdicts);
    return verdicts;
}

} // namespace lab::expedited

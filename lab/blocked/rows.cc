// SPDX-License-Identifier: MIT OR Apache-2.0
// Makes rows of runs.
#include "blocked/rows.h"

#include <cmath>
#include <fmt/format.h>

#include "measure/quantile.h"

namespace lab::blocked
{
namespace
{

// Returns the sum of one phase over all runs.
Phase sum_of(const Cell &cell, Phase RunResult::*which)
{
    const auto add = [](LockUse &sum, const LockUse &use) {
        sum.acquisitions += use.acquisitions;
        sum.hold_ns += use.hold_ns;
        sum.wait_ns += use.wait_ns;
        sum.hold_ns_max = std::max(sum.hold_ns_max, use.hold_ns_max);
        sum.wait_ns_max = std::max(sum.wait_ns_max, use.wait_ns_max);
    };
    Phase sum;
    for (const RunResult &run : cell.runs) {
        const Phase &phase = run.*which;
        sum.seconds += phase.seconds;
        sum.iterations += phase.iterations;
        sum.preemptor_cpu_s += phase.preemptor_cpu_s;
        sum.promotions += phase.promotions;
        sum.promotion_ns += phase.promotion_ns;
        add(sum.readers, phase.readers);
        add(sum.others, phase.others);
    }
    return sum;
}

Figure quantile_us(const std::vector<uint64_t> &ns, double quantile)
{
    return scaled(Samples(ns).quantile(quantile), 1e-3);
}

double count(uint64_t value)
{
    return static_cast<double>(value);
}

void fill_iterations(const Cell &cell, ListsRow &row)
{
    const std::vector<double> rates = iterations_per_s(cell);
    double sum = 0, squares = 0;
    for (double rate : rates)
        sum += rate;
    row.iterations_per_s_mean = ratio(sum, count(rates.size()));
    for (double rate : rates)
        squares += (rate - *row.iterations_per_s_mean) * (rate - *row.iterations_per_s_mean);
    if (rates.size() > 1)
        row.iterations_per_s_stddev = std::sqrt(squares / (count(rates.size()) - 1));
}

void fill_lock(const Cell &cell, unsigned carriers, ListsRow &row)
{
    const Phase metered = sum_of(cell, &RunResult::metered), without_gp = sum_of(cell, &RunResult::without_gp),
                undisturbed = sum_of(cell, &RunResult::undisturbed);
    const auto mean_us = [](double ns, uint64_t acquisitions) { return scaled(ratio(ns, count(acquisitions)), 1e-3); };
    const auto both_us = [&](const Phase &phase) {
        return mean_us(phase.readers.hold_ns + phase.others.hold_ns,
                       phase.readers.acquisitions + phase.others.acquisitions);
    };
    const auto max_us = [](const Phase &phase) {
        return std::max(phase.readers.hold_ns_max, phase.others.hold_ns_max) / 1e3;
    };
    const auto lock_pct = [&](const Phase &phase) {
        return scaled(ratio(phase.readers.hold_ns + phase.readers.wait_ns, phase.seconds * carriers * 1e9), 100);
    };
    const double hold_ns = metered.readers.hold_ns + metered.others.hold_ns;
    const uint64_t acquisitions = metered.readers.acquisitions + metered.others.acquisitions;
    row.lock_hold_ns_per_iteration = ratio(hold_ns, count(metered.iterations));
    row.lock_acquisitions_per_iteration_all = ratio(count(acquisitions), count(metered.iterations));
    row.promotions_per_acquisition = ratio(count(metered.promotions), count(acquisitions));
    row.lock_hold_us_mean = both_us(metered);
    row.lock_hold_us_max = max_us(metered);
    row.unpreempted_hold_us_mean = both_us(undisturbed);
    row.unpreempted_hold_us_max = max_us(undisturbed);
    row.reader_hold_us_mean = mean_us(metered.readers.hold_ns, metered.readers.acquisitions);
    row.reader_hold_us_max = metered.readers.hold_ns_max / 1e3;
    row.reader_wait_us_mean = mean_us(metered.readers.wait_ns, metered.readers.acquisitions);
    row.reader_wait_us_max = metered.readers.wait_ns_max / 1e3;
    row.reader_lock_pct = lock_pct(metered);
    row.reader_lock_pct_without_gp = lock_pct(without_gp);
    row.lock_acquisitions_per_iteration = ratio(count(without_gp.readers.acquisitions), count(without_gp.iterations));
    row.lock_acquisitions_per_iteration_with_gp = ratio(count(metered.readers.acquisitions), count(metered.iterations));
    row.promotions = count(metered.promotions);
    row.promotion_ns = ratio(metered.promotion_ns, count(metered.promotions));
}

} // namespace

std::vector<double> iterations_per_s(const Cell &cell)
{
    std::vector<double> rates;
    for (const RunResult &run : cell.runs)
        if (run.throughput.seconds > 0)
            rates.push_back(count(run.throughput.iterations) / run.throughput.seconds);
    return rates;
}

std::vector<Part> hold_ns_and_iterations(const Cell &cell)
{
    std::vector<Part> runs;
    for (const RunResult &run : cell.runs)
        runs.push_back({run.metered.readers.hold_ns + run.metered.others.hold_ns, count(run.metered.iterations)});
    return runs;
}

std::vector<Part> hold_ns_and_acquisitions(const Cell &cell)
{
    std::vector<Part> runs;
    for (const RunResult &run : cell.runs)
        runs.push_back({run.metered.readers.hold_ns + run.metered.others.hold_ns,
                        count(run.metered.readers.acquisitions + run.metered.others.acquisitions)});
    return runs;
}

std::vector<Part> lock_ns_and_seconds(const Cell &cell)
{
    std::vector<Part> runs;
    for (const RunResult &run : cell.runs)
        runs.push_back({run.without_gp.readers.hold_ns + run.without_gp.readers.wait_ns, run.without_gp.seconds});
    return runs;
}

std::vector<uint64_t> gp_latencies(const Cell &cell)
{
    std::vector<uint64_t> all;
    for (const RunResult &run : cell.runs)
        all.insert(all.end(), run.gp_latency_ns.begin(), run.gp_latency_ns.end());
    return all;
}

ListsRow make_row(const Cell &cell, unsigned carriers, std::size_t cpus)
{
    ListsRow row;
    row.table = "lists";
    row.lists = name_of(cell.lists);
    row.label = cell.lists == Lists::none ? "no sections" : name_of(cell.lists);
    row.carriers = carriers;
    row.runs = count(cell.runs.size());
    fill_iterations(cell, row);
    const Phase throughput = sum_of(cell, &RunResult::throughput);
    row.preempted_pct = scaled(ratio(throughput.preemptor_cpu_s, throughput.seconds * count(cpus)), 100);
    fill_lock(cell, carriers, row);
    std::vector<uint64_t> lateness;
    uint64_t errors = 0;
    for (const RunResult &run : cell.runs) {
        errors += run.errors;
        lateness.insert(lateness.end(), run.wake_lateness_ns.begin(), run.wake_lateness_ns.end());
    }
    const std::vector<uint64_t> latencies = gp_latencies(cell);
    row.errors = count(errors);
    row.grace_periods = count(latencies.size());
    row.gp_latency_us_p50 = quantile_us(latencies, 0.5);
    row.gp_latency_us_p99 = quantile_us(latencies, 0.99);
    row.floor_us_p50 = quantile_us(lateness, 0.5);
    row.floor_us_p99 = quantile_us(lateness, 0.99);
    return row;
}

std::vector<ListsRow> lists_rows(const Plan &plan)
{
    std::vector<ListsRow> rows;
    for (const Cell &cell : plan.cells) {
        if (cell.runs.empty())
            continue;
        ListsRow &row = rows.emplace_back(make_row(cell, plan.request.carriers, plan.request.cpus.size()));
        row.readers = plan.request.readers;
        row.preemptors = plan.request.preemptors;
    }
    if (const ListsRow *spin = find_row(rows, Lists::node_spin))
        for (Lists lists : {Lists::percpu_spin, Lists::node, Lists::percpu})
            if (auto *row = const_cast<ListsRow *>(find_row(rows, lists)))
                row->over_spin_pct = diff_pct(spin->iterations_per_s_mean, row->iterations_per_s_mean);
    return rows;
}

std::vector<OrderRow> order_rows(const Plan &plan)
{
    std::vector<OrderRow> rows;
    for (const OrderCell &cell : plan.orders) {
        const OrderResult &result = cell.result;
        if (result.rounds == 0)
            continue;
        OrderRow &row = rows.emplace_back();
        row.table = "order";
        row.lists = name_of(cell.request.lists);
        row.rounds = count(result.rounds);
        row.older = cell.request.older;
        row.later = cell.request.later;
        row.ended_early = count(result.ended_early);
        row.not_ended = count(result.not_ended);
        row.older_not_waited = count(result.older_not_waited);
        row.later_waited_for = count(result.later_waited_for);
        row.found_us_p50 = quantile_us(result.found_ns, 0.5);
    }
    return rows;
}

std::vector<CrowdRow> crowd_rows(const Plan &plan)
{
    std::vector<CrowdRow> rows;
    for (const CrowdCell &cell : plan.crowds) {
        const CrowdResult &result = cell.result;
        if (result.bytes_each == 0)
            continue;
        CrowdRow &row = rows.emplace_back();
        row.table = "parked";
        row.lists = name_of(cell.request.lists);
        row.tasks = count(cell.request.tasks);
        row.bytes_each = result.bytes_each;
        row.park_ns = result.park_ns;
        row.unlock_ns = result.unlock_ns;
        row.promotion_ns_each = ratio(result.promotion_ns, count(result.promotions));
        row.begin_us = result.begin_ns / 1e3;
        row.end_us = result.end_ns / 1e3;
        row.spread_us = result.spread_ns / 1e3;
        row.gp_without_us = result.gp_without_ns / 1e3;
        row.lock_hold_us_max = result.lock_hold_ns_max / 1e3;
    }
    return rows;
}

ListsCurve make_curve(const Cell &cell)
{
    constexpr std::size_t curve_points = 300;
    ListsCurve curve;
    curve.lists = name_of(cell.lists);
    curve.iterations_per_s = iterations_per_s(cell);
    for (const RunResult &result : cell.runs)
        for (const LockUse *use : {&result.metered.readers, &result.metered.others}) {
            curve.hold_log2.resize(std::max(curve.hold_log2.size(), use->hold_log2.size()));
            for (std::size_t i = 0; i < use->hold_log2.size(); i++)
                curve.hold_log2[i] += use->hold_log2[i];
        }
    curve.cdf = Samples(gp_latencies(cell)).cdf(curve_points);
    return curve;
}

const ListsRow *find_row(const std::vector<ListsRow> &rows, Lists lists)
{
    for (const ListsRow &row : rows)
        if (row.lists == name_of(lists))
            return &row;
    return nullptr;
}

std::string why_mean_hold_rises(const ListsRow &before, const ListsRow &after)
{
    constexpr double rare = 0.1; // acquisitions are rare if their number is at most this part of that before the change
    const Figure acquisitions = after.lock_acquisitions_per_iteration_all,
                 earlier = before.lock_acquisitions_per_iteration_all;
    if (!before.lock_hold_us_mean || !after.lock_hold_us_mean || *after.lock_hold_us_mean <= *before.lock_hold_us_mean)
        return "";
    const std::string means =
        fmt::format("The mean hold time per acquisition rises with {}, to {} µs from {} µs", after.lists,
                    number(after.lock_hold_us_mean), number(before.lock_hold_us_mean));
    const std::string each =
        fmt::format("an iteration holds the lock for {} ns instead of {} ns", number(after.lock_hold_ns_per_iteration),
                    number(before.lock_hold_ns_per_iteration));
    const bool shorter = after.lock_hold_ns_per_iteration.value_or(0) < before.lock_hold_ns_per_iteration.value_or(0);
    if (!shorter || !acquisitions || !earlier || *acquisitions > *earlier * rare || after.promotions.value_or(0) == 0)
        return fmt::format("{}, and acquisitions did not become rare promotions: {}.", means, each);
    return fmt::format(
        "{}, because acquisitions became rare: {:.5f} per iteration instead of {:.3f}. Parking and "
        "unlocking take the lock only if a grace period waits for the reader, and grace periods take it "
        "to promote tasks ({} promotions). Among so few acquisitions, each one whose holder is preempted "
        "raises the mean more. In total, {}.",
        means, *acquisitions, *earlier, whole(after.promotions), each);
}

std::string lists_table(const Plan &plan, int which)
{
    Table table;
    add_columns(table, which, ListsRow());
    if (which == iterations) {
        table.row({"RFC 2026: Baseline", "100", "66,980"});
        table.row({"RFC 2026: Optimized", "100", "97,719", "", "+46%"});
    } else {
        table.row({"RFC 2026: Baseline", "", "", "", "", "", "1,069", "over 4,000", "", "", "", "", "about 4"});
        table.row({"RFC 2026: Optimized", "", "", "", "", "", "about 0"});
    }
    table.rule();
    for (const ListsRow &row : lists_rows(plan))
        if (which == iterations || row.lists != name_of(Lists::none))
            table.row(cells_of(which, row));
    return table.text();
}

} // namespace lab::blocked

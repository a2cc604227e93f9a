// SPDX-License-Identifier: MIT OR Apache-2.0
// Makes rows of runs.
#include "blocked/rows.h"

#include <cmath>

#include "measure/quantile.h"

namespace lab::blocked
{
namespace
{

// The sum of a phase of all runs.
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

Figure share(double part, double whole)
{
    return whole > 0 ? Figure(part / whole) : std::nullopt;
}

Figure times(const Figure &value, double factor)
{
    return value ? Figure(*value * factor) : std::nullopt;
}

Figure quantile_us(const std::vector<uint64_t> &ns, double quantile)
{
    const auto value = Samples(ns).quantile(quantile);
    return value ? Figure(static_cast<double>(*value) / 1e3) : std::nullopt;
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
    row.iterations_per_s_mean = share(sum, count(rates.size()));
    for (double rate : rates)
        squares += (rate - *row.iterations_per_s_mean) * (rate - *row.iterations_per_s_mean);
    if (rates.size() > 1)
        row.iterations_per_s_stddev = std::sqrt(squares / (count(rates.size()) - 1));
}

void fill_lock(const Cell &cell, unsigned carriers, ListsRow &row)
{
    const Phase metered = sum_of(cell, &RunResult::metered), without_gp = sum_of(cell, &RunResult::without_gp),
                undisturbed = sum_of(cell, &RunResult::undisturbed);
    const auto mean_us = [](double ns, uint64_t acquisitions) { return times(share(ns, count(acquisitions)), 1e-3); };
    const auto both_us = [&](const Phase &phase) {
        return mean_us(phase.readers.hold_ns + phase.others.hold_ns,
                       phase.readers.acquisitions + phase.others.acquisitions);
    };
    const auto max_us = [](const Phase &phase) {
        return std::max(phase.readers.hold_ns_max, phase.others.hold_ns_max) / 1e3;
    };
    const auto lock_pct = [&](const Phase &phase) {
        return times(share(phase.readers.hold_ns + phase.readers.wait_ns, phase.seconds * carriers * 1e9), 100);
    };
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
    row.lock_acquisitions_per_iteration = share(count(without_gp.readers.acquisitions), count(without_gp.iterations));
    row.lock_acquisitions_per_iteration_with_gp = share(count(metered.readers.acquisitions), count(metered.iterations));
    row.promotions = metered.promotions;
    row.promotion_ns = share(metered.promotion_ns, count(metered.promotions));
}

Json to_json(const ListsRow &row, const Plan &plan)
{
    return {{"table", "lists"},
            {"lists", name_of(row.lists)},
            {"readers", plan.request.readers},
            {"carriers", plan.request.carriers},
            {"preemptors", plan.request.preemptors},
            {"runs", row.runs},
            {"iterations_per_s_mean", or_null(row.iterations_per_s_mean)},
            {"iterations_per_s_stddev", or_null(row.iterations_per_s_stddev)},
            {"lock_hold_us_mean", or_null(row.lock_hold_us_mean)},
            {"lock_hold_us_max", or_null(row.lock_hold_us_max)},
            {"lock_acquisitions_per_iteration", or_null(row.lock_acquisitions_per_iteration)},
            {"promotions", row.promotions},
            {"gp_latency_us_p50", or_null(row.gp_latency_us_p50)},
            {"gp_latency_us_p99", or_null(row.gp_latency_us_p99)},
            {"floor_us_p50", or_null(row.floor_us_p50)},
            {"floor_us_p99", or_null(row.floor_us_p99)},
            {"preempted_pct", or_null(row.preempted_pct)},
            {"reader_hold_us_mean", or_null(row.reader_hold_us_mean)},
            {"reader_hold_us_max", or_null(row.reader_hold_us_max)},
            {"unpreempted_hold_us_mean", or_null(row.unpreempted_hold_us_mean)},
            {"unpreempted_hold_us_max", or_null(row.unpreempted_hold_us_max)},
            {"reader_wait_us_mean", or_null(row.reader_wait_us_mean)},
            {"reader_wait_us_max", or_null(row.reader_wait_us_max)},
            {"reader_lock_pct", or_null(row.reader_lock_pct)},
            {"reader_lock_pct_without_gp", or_null(row.reader_lock_pct_without_gp)},
            {"lock_acquisitions_per_iteration_with_gp", or_null(row.lock_acquisitions_per_iteration_with_gp)},
            {"promotion_ns", or_null(row.promotion_ns)},
            {"grace_periods", row.grace_periods},
            {"reader_errors", row.errors}};
}

void add_order_rows(const Plan &plan, Json &rows)
{
    for (const OrderCell &cell : plan.orders) {
        if (cell.result.rounds == 0)
            continue;
        rows.push_back({{"table", "order"},
                        {"lists", name_of(cell.request.lists)},
                        {"rounds", cell.result.rounds},
                        {"older", cell.request.older},
                        {"later", cell.request.later},
                        {"ended_early", cell.result.ended_early},
                        {"not_ended", cell.result.not_ended},
                        {"older_not_waited", cell.result.older_not_waited},
                        {"later_waited_for", cell.result.later_waited_for},
                        {"found_us_p50", or_null(quantile_us(cell.result.found_ns, 0.5))}});
    }
}

void add_crowd_rows(const Plan &plan, Json &rows)
{
    for (const CrowdCell &cell : plan.crowds) {
        const CrowdResult &result = cell.result;
        if (result.bytes_each == 0)
            continue;
        rows.push_back({{"table", "parked"},
                        {"lists", name_of(cell.request.lists)},
                        {"tasks", cell.request.tasks},
                        {"bytes_each", result.bytes_each},
                        {"park_ns", result.park_ns},
                        {"unlock_ns", result.unlock_ns},
                        {"promotion_ns_each", or_null(share(result.promotion_ns, count(result.promotions)))},
                        {"begin_us", result.begin_ns / 1e3},
                        {"end_us", result.end_ns / 1e3},
                        {"gp_without_us", result.gp_without_ns / 1e3},
                        {"lock_hold_us_max", result.lock_hold_ns_max / 1e3}});
    }
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
    row.lists = cell.lists;
    row.runs = cell.runs.size();
    fill_iterations(cell, row);
    const Phase throughput = sum_of(cell, &RunResult::throughput);
    row.preempted_pct = times(share(throughput.preemptor_cpu_s, throughput.seconds * count(cpus)), 100);
    fill_lock(cell, carriers, row);
    std::vector<uint64_t> lateness;
    for (const RunResult &run : cell.runs) {
        row.errors += run.errors;
        lateness.insert(lateness.end(), run.wake_lateness_ns.begin(), run.wake_lateness_ns.end());
    }
    const std::vector<uint64_t> latencies = gp_latencies(cell);
    row.grace_periods = latencies.size();
    row.gp_latency_us_p50 = quantile_us(latencies, 0.5);
    row.gp_latency_us_p99 = quantile_us(latencies, 0.99);
    row.floor_us_p50 = quantile_us(lateness, 0.5);
    row.floor_us_p99 = quantile_us(lateness, 0.99);
    return row;
}

std::vector<ListsRow> lists_rows(const Plan &plan)
{
    std::vector<ListsRow> rows;
    for (const Cell &cell : plan.cells)
        if (!cell.runs.empty())
            rows.push_back(make_row(cell, plan.request.carriers, plan.request.cpus.size()));
    return rows;
}

const ListsRow *find_row(const std::vector<ListsRow> &rows, Lists lists)
{
    for (const ListsRow &row : rows)
        if (row.lists == lists)
            return &row;
    return nullptr;
}

Figure gain_pct(const Figure &before, const Figure &after)
{
    return before && after && *before > 0 ? Figure(100 * (*after / *before - 1)) : std::nullopt;
}

Json all_rows(const Plan &plan)
{
    Json rows = Json::array();
    for (const ListsRow &row : lists_rows(plan))
        rows.push_back(to_json(row, plan));
    add_order_rows(plan, rows);
    add_crowd_rows(plan, rows);
    return rows;
}

} // namespace lab::blocked

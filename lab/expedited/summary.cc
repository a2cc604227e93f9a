// SPDX-License-Identifier: MIT OR Apache-2.0
// Quartiles by nearest rank, deviation over the whole population, extremes by experiment.
#include "expedited/summary.h"

#include <algorithm>
#include <cmath>

#include "measure/quantile.h"

namespace lab::expedited
{

static Figure as_figure(std::optional<uint64_t> value)
{
    return value ? Figure(static_cast<double>(*value)) : std::nullopt;
}

static void fill_ranges(const std::vector<std::vector<uint64_t>> &experiments, Summary &summary)
{
    for (const auto &experiment : experiments) {
        if (experiment.empty())
            continue;
        const auto [low, high] = std::minmax_element(experiment.begin(), experiment.end());
        const auto min = static_cast<double>(*low), max = static_cast<double>(*high);
        summary.experiments++;
        summary.largest_max_ns = std::max(summary.largest_max_ns.value_or(max), max);
        summary.smallest_max_ns = std::min(summary.smallest_max_ns.value_or(max), max);
        summary.largest_min_ns = std::max(summary.largest_min_ns.value_or(min), min);
        summary.smallest_min_ns = std::min(summary.smallest_min_ns.value_or(min), min);
    }
    if (summary.experiments == 0)
        return;
    summary.range_of_max_ns = *summary.largest_max_ns - *summary.smallest_max_ns;
    summary.range_of_min_ns = *summary.largest_min_ns - *summary.smallest_min_ns;
}

Summary summarise(const std::vector<std::vector<uint64_t>> &experiments)
{
    Summary summary;
    std::vector<uint64_t> all;
    for (const auto &experiment : experiments)
        all.insert(all.end(), experiment.begin(), experiment.end());
    const Samples samples(std::move(all));
    summary.count = samples.count();
    fill_ranges(experiments, summary);
    if (summary.count == 0)
        return summary;
    summary.min_ns = static_cast<double>(samples.sorted().front());
    summary.q1_ns = as_figure(samples.quantile_of_few(0.25));
    summary.median_ns = as_figure(samples.quantile_of_few(0.5));
    summary.q3_ns = as_figure(samples.quantile_of_few(0.75));
    summary.max_ns = as_figure(samples.max());
    summary.avg_ns = samples.mean();
    double squares = 0;
    for (uint64_t value : samples.sorted())
        squares += std::pow(static_cast<double>(value) - *summary.avg_ns, 2);
    summary.stddev_ns = std::sqrt(squares / static_cast<double>(summary.count));
    return summary;
}

Figure diff_pct(const Figure &before, const Figure &after)
{
    if (!before || !after || *before == 0)
        return std::nullopt;
    return 100 * (*after - *before) / *before;
}

const std::vector<SummaryField> &duration_fields()
{
    static const std::vector<SummaryField> fields = {
        {"min_ns", "Min Duration       (ns)", &Summary::min_ns, true},
        {"q1_ns", "Q1                 (ns)", &Summary::q1_ns, true},
        {"median_ns", "Q2 - Median        (ns)", &Summary::median_ns, true},
        {"q3_ns", "Q3                 (ns)", &Summary::q3_ns, true},
        {"max_ns", "Max Duration       (ns)", &Summary::max_ns, true},
        {"avg_ns", "Avg Duration       (ns)", &Summary::avg_ns, true},
        {"stddev_ns", "Standard Deviation (ns)", &Summary::stddev_ns, false},
    };
    return fields;
}

const std::vector<SummaryField> &range_fields()
{
    static const std::vector<SummaryField> fields = {
        {"largest_max_ns", "Largest  Maximum   (ns)", &Summary::largest_max_ns, true},
        {"smallest_max_ns", "Smallest Maximum   (ns)", &Summary::smallest_max_ns, true},
        {"range_of_max_ns", "Range of Maximums  (ns)", &Summary::range_of_max_ns, false},
        {"largest_min_ns", "Largest  Minimum   (ns)", &Summary::largest_min_ns, true},
        {"smallest_min_ns", "Smallest Minimum   (ns)", &Summary::smallest_min_ns, true},
        {"range_of_min_ns", "Range of Minimums  (ns)", &Summary::range_of_min_ns, false},
    };
    return fields;
}

} // namespace lab::expedited

// SPDX-License-Identifier: MIT OR Apache-2.0
// Statistics: quartiles by nearest rank, deviation over the whole population, minimum and maximum of each
// experiment.
#include "expedited/summary.h"

#include <algorithm>
#include <cmath>

#include "measure/quantile.h"

namespace lab::expedited
{

static void fill_ranges(const std::vector<std::vector<uint64_t>> &experiments, Summary &summary)
{
    unsigned count = 0;
    for (const auto &experiment : experiments) {
        if (experiment.empty())
            continue;
        const auto [low, high] = std::minmax_element(experiment.begin(), experiment.end());
        const auto min = static_cast<double>(*low), max = static_cast<double>(*high);
        count++;
        summary.largest_max_ns = std::max(summary.largest_max_ns.value_or(max), max);
        summary.smallest_max_ns = std::min(summary.smallest_max_ns.value_or(max), max);
        summary.largest_min_ns = std::max(summary.largest_min_ns.value_or(min), min);
        summary.smallest_min_ns = std::min(summary.smallest_min_ns.value_or(min), min);
    }
    summary.experiments = count;
    if (count == 0)
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
    summary.count = static_cast<double>(samples.count());
    fill_ranges(experiments, summary);
    if (samples.count() == 0)
        return summary;
    summary.min_ns = static_cast<double>(samples.sorted().front());
    summary.q1_ns = scaled(samples.quantile_of_few(0.25));
    summary.median_ns = scaled(samples.quantile_of_few(0.5));
    summary.q3_ns = scaled(samples.quantile_of_few(0.75));
    summary.max_ns = scaled(samples.max());
    summary.avg_ns = samples.mean();
    double squares = 0;
    for (uint64_t value : samples.sorted())
        squares += std::pow(static_cast<double>(value) - *summary.avg_ns, 2);
    summary.stddev_ns = std::sqrt(squares / *summary.count);
    return summary;
}

void fill_diffs(Summary &summary, const Summary &before)
{
    for (Compared Summary::*figure :
         {&Summary::min_ns, &Summary::q1_ns, &Summary::median_ns, &Summary::q3_ns, &Summary::max_ns, &Summary::avg_ns,
          &Summary::stddev_ns, &Summary::largest_max_ns, &Summary::smallest_max_ns, &Summary::range_of_max_ns,
          &Summary::largest_min_ns, &Summary::smallest_min_ns, &Summary::range_of_min_ns})
        (summary.*figure).diff = diff_pct(before.*figure, summary.*figure);
}

} // namespace lab::expedited

// SPDX-License-Identifier: MIT OR Apache-2.0
// The figures of the document's two tables, computed from the latencies of many experiments.
#pragma once

#include <cstdint>
#include <vector>

#include "report/row.h"

namespace lab::expedited
{

// The tables: the two tables of the document with all their lines, and a third table of this project.
constexpr int durations = 0, ranges = 1, turned = 2;

// A figure, and its difference from the same figure of another row, in per cent of the other row's figure.
struct Compared : Number {
    Number diff;
    Compared(Fields &row, const char *key, const char *diff_key, const Column &column)
        : Number(row, key, column), diff(row, diff_key)
    {
    }
    using Number::operator=;
};

// The figures of a variant, in nanoseconds.  The table `durations` has statistics over the calls of all experiments,
// `ranges` the extremes of the experiments' minima and maxima.
struct Summary : Fields {
    Text table{*this, "table"}, environment{*this, "environment"}, worker{*this, "worker"};
    Flag boost{*this, "boost"};
    Count experiments{*this, "experiments", {ranges, "Total No. of Experiments"}};
    Count count{*this, "count", {durations, "Count"}};
    Compared min_ns{*this, "min_ns", "min_ns_diff_pct", {durations, "Min Duration       (ns)"}};
    Compared q1_ns{*this, "q1_ns", "q1_ns_diff_pct", {durations, "Q1                 (ns)"}};
    Compared median_ns{*this, "median_ns", "median_ns_diff_pct", {durations, "Q2 - Median        (ns)"}};
    Compared q3_ns{*this, "q3_ns", "q3_ns_diff_pct", {durations, "Q3                 (ns)"}};
    Compared max_ns{*this, "max_ns", "max_ns_diff_pct", {durations, "Max Duration       (ns)"}};
    Compared avg_ns{*this, "avg_ns", "avg_ns_diff_pct", {durations, "Avg Duration       (ns)"}};
    Compared stddev_ns{*this, "stddev_ns", "stddev_ns_diff_pct", {durations, "Standard Deviation (ns)"}};
    Compared largest_max_ns{*this, "largest_max_ns", "largest_max_ns_diff_pct", {ranges, "Largest  Maximum   (ns)"}};
    Compared smallest_max_ns{*this, "smallest_max_ns", "smallest_max_ns_diff_pct", {ranges, "Smallest Maximum   (ns)"}};
    Compared range_of_max_ns{*this, "range_of_max_ns", "range_of_max_ns_diff_pct", {ranges, "Range of Maximums  (ns)"}};
    Compared largest_min_ns{*this, "largest_min_ns", "largest_min_ns_diff_pct", {ranges, "Largest  Minimum   (ns)"}};
    Compared smallest_min_ns{*this, "smallest_min_ns", "smallest_min_ns_diff_pct", {ranges, "Smallest Minimum   (ns)"}};
    Compared range_of_min_ns{*this, "range_of_min_ns", "range_of_min_ns_diff_pct", {ranges, "Range of Minimums  (ns)"}};
    Count expedited{*this, "expedited", {turned, "expedited grace periods"}};
    Count by_caller{*this, "by_caller", {turned, "advanced by callers"}};
    Count by_worker{*this, "by_worker", {turned, "advanced by the worker"}};
    Count boosts{*this, "boosts", {turned, "readers boosted"}}, rt_refused{*this, "rt_refused"};
    Count errors{*this, "reader_errors"};
    // Calls that were cut off by the end of their experiment.  No other figure includes them.
    Count cut_off{*this, "cut_off", {turned, "calls cut off"}};
    Number cut_off_ns_max{*this, "cut_off_ns_max", {turned, "longest cut off (ns)", "{:.0f}"}};
};

// Summarises the latencies, which are grouped by experiment.  Experiments without a sample are left out.
Summary summarise(const std::vector<std::vector<uint64_t>> &experiments);
void fill_diffs(Summary &summary, const Summary &before);

} // namespace lab::expedited

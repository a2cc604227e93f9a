// SPDX-License-Identifier: MIT OR Apache-2.0
// The figures of the document's two tables, from the latencies of many experiments.
#pragma once

#include <cstdint>
#include <vector>

#include "measure/figure.h"

namespace lab::expedited
{

// First table: all experiments together; second table: the extremes of each.  Nanoseconds.
struct Summary {
    uint64_t experiments = 0, count = 0;
    Figure min_ns, q1_ns, median_ns, q3_ns, max_ns, avg_ns, stddev_ns;
    Figure largest_max_ns, smallest_max_ns, range_of_max_ns, largest_min_ns, smallest_min_ns, range_of_min_ns;
};

// Experiments without a sample are not counted.
Summary summarise(const std::vector<std::vector<uint64_t>> &experiments);

// By how much `after` differs from `before`, in per cent of `before`.
Figure diff_pct(const Figure &before, const Figure &after);

// The figures in the order of the tables, for whoever goes through all of them.
struct SummaryField {
    const char *key;   // in JSON
    const char *title; // in the document
    Figure Summary::*figure;
    bool has_diff; // in the document
};
const std::vector<SummaryField> &duration_fields();
const std::vector<SummaryField> &range_fields();

} // namespace lab::expedited

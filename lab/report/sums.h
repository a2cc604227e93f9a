// SPDX-License-Identifier: MIT OR Apache-2.0
// Ratios of sums over the runs of a variant, such as the time that a lock is held for each iteration.
//
// A few long parts make most of such a sum, so the median of the runs says nothing about it: the runs are drawn anew,
// and the sums of each draw are compared.
#pragma once

#include <optional>
#include <vector>

#include "report/interval.h"

namespace lab
{

// Of one run.
struct Part {
    double sum, count;
};

// The ratio of `a` is so many times that of `b`.  Nothing for fewer runs than bootstrap_least, or where `b` has no sum.
std::optional<Interval> sums_interval(const std::vector<Part> &a, const std::vector<Part> &b, double level = 0.95);

} // namespace lab

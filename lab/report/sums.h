// SPDX-License-Identifier: MIT OR Apache-2.0
// Ratios of sums over the runs of a variant, for example of the time that a lock is held for each iteration.
//
// A few long parts make up most of such a sum, so the median of the runs is not a useful estimate. Instead the runs are
// resampled, and the sums of each resample are compared.
#pragma once

#include <optional>
#include <vector>

#include "report/interval.h"

namespace lab
{

// The sum and the count of one run.
struct Part {
    double sum, count;
};

// Returns the ratio of `a` divided by the ratio of `b`; a ratio is the total of the sums divided by the total of the
// counts.  Returns an empty value for fewer than bootstrap_least runs, or if the sum of `b` is 0.
std::optional<Interval> sums_interval(const std::vector<Part> &a, const std::vector<Part> &b, double level = 0.95);

} // namespace lab

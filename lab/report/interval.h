// SPDX-License-Identifier: MIT OR Apache-2.0
// Confidence intervals of medians by bootstrap, and the verdicts that they permit.
//
// Rounds are resampled, because rounds of a run are independent and samples within a round are not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/verdict.h"

namespace lab
{

// The smallest number of values for an interval.
constexpr std::size_t bootstrap_least = 5;

struct Interval {
    double middle, low, high;
    bool covers(double value) const
    {
        return low <= value && value <= high;
    }
};

// Returns the median and its interval at `level`, for example 0.95: the percentiles of the medians of resampled values.
// Empty for fewer than bootstrap_least values.  The same values always give the same interval.
std::optional<Interval> median_interval(const std::vector<double> &values, double level = 0.95);

// Return the median and its interval of a - b and of a / b, element by element: element i of both was measured in round
// i. Elements without a partner are left out.
std::optional<Interval> difference_interval(const std::vector<double> &a, const std::vector<double> &b,
                                            double level = 0.95);
std::optional<Interval> ratio_interval(const std::vector<double> &a, const std::vector<double> &b, double level = 0.95);

// Judge whether a figure is at least or at most the bar: "held" if the whole interval satisfies the bar, `otherwise` if
// no part of it does, "not judged" if the interval contains the bar.
Outcome judge_least(const Interval &interval, double bar, Outcome otherwise = Outcome::failed);
Outcome judge_most(const Interval &interval, double bar, Outcome otherwise = Outcome::failed);

// Judge whether a figure is less, or more, than another figure, by the interval of their ratio: "held" if the whole
// interval confirms it, `otherwise` if the whole interval contradicts it, "not reproduced" if the interval contains 1,
// "not judged" without an interval or if `judge_it` is false.
Outcome judge_less(const std::optional<Interval> &ratio, bool judge_it, Outcome otherwise = Outcome::not_reproduced);
Outcome judge_more(const std::optional<Interval> &ratio, bool judge_it, Outcome otherwise = Outcome::not_reproduced);

// Returns a ratio as a change: "-12.3 % (-15.1 to -9.8)"; without an interval, the number of rounds, which is too
// small.
std::string change_text(const std::optional<Interval> &ratio, std::size_t rounds);

// Formats the median and the interval: "12.3 (9.8 to 15.1)".
std::string interval_text(const std::optional<Interval> &interval, double scale = 1);
// Returns the reason why there is no interval: "4 rounds of the 5 that a spread needs".
std::string too_few_rounds(std::size_t rounds);
// Returns the interval and its unit; without an interval, the number of rounds, which is too small.
std::string spread_text(const std::optional<Interval> &interval, const std::string &unit, std::size_t rounds,
                        double scale = 1);

} // namespace lab

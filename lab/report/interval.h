// SPDX-License-Identifier: MIT OR Apache-2.0
// Confidence intervals of medians by bootstrap, and verdicts that a spread allows.
//
// A round is the unit of resampling: rounds of one run are independent, samples within a round are not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/verdict.h"

namespace lab
{

// With fewer values an interval says nothing.
constexpr std::size_t bootstrap_least = 5;

struct Interval {
    double middle, low, high;
    bool covers(double value) const
    {
        return low <= value && value <= high;
    }
};

// The median and its interval at `level`, as 0.95: the percentiles of the medians of resampled values.  Nothing for
// fewer values than bootstrap_least.  The same values give the same interval.
std::optional<Interval> median_interval(const std::vector<double> &values, double level = 0.95);

// The same for a - b and for a / b, value by value: round i of both ran in the same round of the experiment.  Values
// without a partner are left out.
std::optional<Interval> difference_interval(const std::vector<double> &a, const std::vector<double> &b,
                                            double level = 0.95);
std::optional<Interval> ratio_interval(const std::vector<double> &a, const std::vector<double> &b, double level = 0.95);

// At least, at most: held where the whole interval says it, `otherwise` where the whole interval says the
// opposite, and not judged where the spread covers the bar.
Outcome judge_least(const Interval &interval, double bar, Outcome otherwise = Outcome::failed);
Outcome judge_most(const Interval &interval, double bar, Outcome otherwise = Outcome::failed);

// The claim that one is less, or more, than the other, from the interval of their ratio: held beyond the spread.  A
// difference inside the spread shows nothing, so it is "not reproduced"; `otherwise` is the outcome beyond the spread
// on the other side.  Without an interval, or where `judge_it` is false, nothing is judged.
Outcome judge_less(const std::optional<Interval> &ratio, bool judge_it, Outcome otherwise = Outcome::not_reproduced);
Outcome judge_more(const std::optional<Interval> &ratio, bool judge_it, Outcome otherwise = Outcome::not_reproduced);

// A ratio as a change: "-12.3 % (-15.1 to -9.8)"; the number of rounds where they are too few for an interval.
std::string change_text(const std::optional<Interval> &ratio, std::size_t rounds);

// "12.3 (9.8 to 15.1)"
std::string interval_text(const std::optional<Interval> &interval, double scale = 1);
// Why there is no interval: "4 rounds of the 5 that a spread needs".
std::string too_few_rounds(std::size_t rounds);
// The interval and its unit; without one the number of rounds, where they are too few.
std::string spread_text(const std::optional<Interval> &interval, const std::string &unit, std::size_t rounds,
                        double scale = 1);

} // namespace lab

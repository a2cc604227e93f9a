// SPDX-License-Identifier: MIT OR Apache-2.0
// The percentile bootstrap, and verdicts from its intervals.
#include "report/interval.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <random>

#include "report/table.h"

namespace lab
{

static double median_of(std::vector<double> &values)
{
    const std::size_t half = values.size() / 2;
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half), values.end());
    const double upper = values[half];
    if (values.size() % 2 != 0)
        return upper;
    return (upper + *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half))) / 2;
}

std::optional<Interval> median_interval(const std::vector<double> &values, double level)
{
    constexpr std::size_t resamples = 2000;
    if (values.size() < bootstrap_least)
        return std::nullopt;
    std::mt19937_64 random(values.size());
    std::uniform_int_distribution<std::size_t> any(0, values.size() - 1);
    std::vector<double> medians, drawn(values.size());
    medians.reserve(resamples);
    for (std::size_t i = 0; i < resamples; i++) {
        for (double &value : drawn)
            value = values[any(random)];
        medians.push_back(median_of(drawn));
    }
    std::sort(medians.begin(), medians.end());
    const auto outside = static_cast<std::size_t>(std::floor((1 - level) / 2 * static_cast<double>(resamples)));
    drawn = values;
    return Interval{median_of(drawn), medians[outside], medians[resamples - 1 - outside]};
}

template <class Join>
static std::optional<Interval> joined(const std::vector<double> &a, const std::vector<double> &b, double level,
                                      Join join)
{
    std::vector<double> values;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); i++)
        values.push_back(join(a[i], b[i]));
    return median_interval(values, level);
}

std::optional<Interval> difference_interval(const std::vector<double> &a, const std::vector<double> &b, double level)
{
    return joined(a, b, level, [](double one, double other) { return one - other; });
}

std::optional<Interval> ratio_interval(const std::vector<double> &a, const std::vector<double> &b, double level)
{
    return joined(a, b, level, [](double one, double other) { return other != 0 ? one / other : 0; });
}

Outcome judge_least(const Interval &interval, double bar, Outcome otherwise)
{
    if (interval.low >= bar)
        return Outcome::held;
    return interval.high < bar ? otherwise : Outcome::not_judged;
}

Outcome judge_most(const Interval &interval, double bar, Outcome otherwise)
{
    if (interval.high <= bar)
        return Outcome::held;
    return interval.low > bar ? otherwise : Outcome::not_judged;
}

// Judges whether the interval from `from` to `to` is below the bar.
static Outcome judge_below(double from, double to, double bar, Outcome otherwise)
{
    if (from <= bar && bar <= to)
        return Outcome::not_reproduced;
    return to < bar ? Outcome::held : otherwise;
}

Outcome judge_less(const std::optional<Interval> &ratio, bool judge_it, Outcome otherwise)
{
    return judge_it && ratio ? judge_below(ratio->low, ratio->high, 1, otherwise) : Outcome::not_judged;
}

Outcome judge_more(const std::optional<Interval> &ratio, bool judge_it, Outcome otherwise)
{
    return judge_it && ratio ? judge_below(-ratio->high, -ratio->low, -1, otherwise) : Outcome::not_judged;
}

std::string change_text(const std::optional<Interval> &ratio, std::size_t rounds)
{
    if (!ratio)
        return fmt::format("rounds: {} of the {} that a spread needs", rounds, bootstrap_least);
    const auto pct = [](double value) { return 100 * (value - 1); };
    return fmt::format("{:+.1f} % ({:+.1f} to {:+.1f})", pct(ratio->middle), pct(ratio->low), pct(ratio->high));
}

std::string interval_text(const std::optional<Interval> &interval, double scale)
{
    if (!interval)
        return "-";
    return number(interval->middle * scale) + " (" + number(interval->low * scale) + " to " +
           number(interval->high * scale) + ")";
}

std::string too_few_rounds(std::size_t rounds)
{
    return fmt::format("{} rounds of the {} that a spread needs", rounds, bootstrap_least);
}

std::string spread_text(const std::optional<Interval> &interval, const std::string &unit, std::size_t rounds,
                        double scale)
{
    return rounds < bootstrap_least ? too_few_rounds(rounds) : interval_text(interval, scale) + " " + unit;
}

} // namespace lab

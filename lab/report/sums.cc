// SPDX-License-Identifier: MIT OR Apache-2.0
// Resamples runs and compares their sums.
#include "report/sums.h"

#include <algorithm>
#include <random>

#include "measure/figure.h"

namespace lab
{
namespace
{

constexpr std::size_t resamples = 1000;

Figure ratio_of(const std::vector<Part> &runs)
{
    Part all{0, 0};
    for (const Part &run : runs)
        all = {all.sum + run.sum, all.count + run.count};
    return ratio(all.sum, all.count);
}

std::vector<Part> drawn(const std::vector<Part> &runs, std::mt19937_64 &random)
{
    std::uniform_int_distribution<std::size_t> any(0, runs.size() - 1);
    std::vector<Part> some;
    for (std::size_t i = 0; i < runs.size(); i++)
        some.push_back(runs[any(random)]);
    return some;
}

Figure compared(const std::vector<Part> &a, const std::vector<Part> &b)
{
    const Figure of_a = ratio_of(a), of_b = ratio_of(b);
    return of_a && of_b ? ratio(*of_a, *of_b) : std::nullopt;
}

} // namespace

std::optional<Interval> sums_interval(const std::vector<Part> &a, const std::vector<Part> &b, double level)
{
    const Figure middle = compared(a, b);
    if (std::min(a.size(), b.size()) < bootstrap_least || !middle)
        return std::nullopt;
    std::mt19937_64 random(a.size());
    std::vector<double> ratios;
    for (std::size_t i = 0; i < resamples; i++)
        if (const Figure one = compared(drawn(a, random), drawn(b, random)))
            ratios.push_back(*one);
    if (ratios.empty())
        return std::nullopt;
    std::sort(ratios.begin(), ratios.end());
    const auto outside = static_cast<std::size_t>((1 - level) / 2 * static_cast<double>(ratios.size()));
    return Interval{*middle, ratios[outside], ratios[ratios.size() - 1 - outside]};
}

} // namespace lab

// SPDX-License-Identifier: MIT OR Apache-2.0
// Exact quantiles by nearest rank over sorted samples.
#include "measure/quantile.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lab
{

std::size_t samples_needed(double quantile)
{
    // 0.99 needs 1,000 samples, 0.999 10,000, 0.9999 100,000.  Rounded, because the subtraction is not exact in binary.
    return static_cast<std::size_t>(std::llround(10.0 / (1.0 - quantile)));
}

Samples::Samples(std::vector<uint64_t> values) : values_(std::move(values))
{
    std::sort(values_.begin(), values_.end());
}

std::optional<uint64_t> Samples::quantile_of_few(double quantile) const
{
    if (values_.empty())
        return std::nullopt;
    // A rank of 989.9999999 should be 990, so a tiny amount is subtracted before rounding up.
    double exact = quantile * static_cast<double>(values_.size());
    auto rank = static_cast<std::size_t>(std::ceil(exact - 1e-9 * exact));
    rank = std::clamp<std::size_t>(rank, 1, values_.size());
    return values_[rank - 1];
}

std::optional<uint64_t> Samples::quantile(double quantile) const
{
    if (values_.size() < samples_needed(quantile))
        return std::nullopt;
    return quantile_of_few(quantile);
}

std::optional<uint64_t> Samples::max() const
{
    if (values_.empty())
        return std::nullopt;
    return values_.back();
}

double Samples::mean() const
{
    if (values_.empty())
        return 0;
    return std::accumulate(values_.begin(), values_.end(), 0.0) / static_cast<double>(values_.size());
}

std::vector<std::pair<double, double>> Samples::cdf(std::size_t points, double scale) const
{
    std::vector<std::pair<double, double>> curve;
    if (values_.empty() || points < 2)
        return curve;
    const auto size = static_cast<double>(values_.size());
    // Ranks are evenly spaced in log(share above), so that every sample of the tail is kept.
    std::size_t previous = 0;
    for (std::size_t i = 0; i < points; i++) {
        double above = std::pow(size, -static_cast<double>(i) / static_cast<double>(points - 1));
        auto rank = static_cast<std::size_t>(std::llround(size * (1 - above)));
        rank = std::clamp<std::size_t>(rank + 1, 1, values_.size());
        if (rank == previous)
            continue;
        previous = rank;
        curve.emplace_back(static_cast<double>(values_[rank - 1]) * scale, static_cast<double>(rank) / size);
    }
    return curve;
}

} // namespace lab

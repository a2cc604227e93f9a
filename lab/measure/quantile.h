// SPDX-License-Identifier: MIT OR Apache-2.0
// Exact quantiles of samples that are kept whole, and the rule for how many samples a quantile needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace lab
{

// How many samples a quantile needs before it is worth printing: ten beyond it, as a rule of thumb; 1/(1-q) * 10.
std::size_t samples_needed(double quantile);

class Samples
{
  public:
    Samples() = default;
    explicit Samples(std::vector<uint64_t> values);

    std::size_t count() const
    {
        return values_.size();
    }
    // The smallest sample that at least `quantile` of all samples do not exceed.  Nothing where the samples are too
    // few.
    std::optional<uint64_t> quantile(double quantile) const;
    // The same without asking for many samples: for counts of events that are rare by nature.
    std::optional<uint64_t> quantile_of_few(double quantile) const;
    std::optional<uint64_t> max() const;
    double mean() const;
    // Points (value times `scale`, share of samples at or below it) for a plot: dense at the upper end, at most so
    // many of them.
    std::vector<std::pair<double, double>> cdf(std::size_t points, double scale = 1) const;
    const std::vector<uint64_t> &sorted() const
    {
        return values_;
    }

  private:
    std::vector<uint64_t> values_; // ascending
};

} // namespace lab

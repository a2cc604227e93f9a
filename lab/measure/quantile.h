// SPDX-License-Identifier: MIT OR Apache-2.0
// Exact quantiles of complete sets of samples, and the number of samples that a quantile needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace lab
{

// Returns the number of samples that a quantile needs: 10 / (1 - q), so that about ten samples lie above it.
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
    // Returns the smallest sample such that at least the fraction `quantile` of all samples is not larger.  Empty if
    // there are too few samples.
    std::optional<uint64_t> quantile(double quantile) const;
    // quantile() without a minimum number of samples, for rare events.
    std::optional<uint64_t> quantile_of_few(double quantile) const;
    std::optional<uint64_t> max() const;
    double mean() const;
    // Returns at most `points` points of a plot, densest at the upper end: a value times `scale`, and the share of
    // samples at or below it.
    std::vector<std::pair<double, double>> cdf(std::size_t points, double scale = 1) const;
    const std::vector<uint64_t> &sorted() const
    {
        return values_;
    }

  private:
    std::vector<uint64_t> values_; // ascending
};

} // namespace lab

// SPDX-License-Identifier: MIT OR Apache-2.0
// A figure of a result; it is missing if the run was too short or the machine cannot measure it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace lab
{

using Figure = std::optional<double>;

inline Figure scaled(const std::optional<uint64_t> &value, double scale = 1)
{
    return value ? Figure(static_cast<double>(*value) * scale) : std::nullopt;
}

inline Figure scaled(const Figure &value, double scale)
{
    return value ? Figure(*value * scale) : std::nullopt;
}

inline Figure ratio(double part, double whole)
{
    return whole > 0 ? Figure(part / whole) : std::nullopt;
}

// Returns the increase from `before` to `after`, in per cent of `before`.
inline Figure diff_pct(const Figure &before, const Figure &after)
{
    return before && after && *before != 0 ? Figure(100 * (*after - *before) / *before) : std::nullopt;
}

// Return the upper median, and half the distance between the quartiles in per cent of the median.
inline Figure median(std::vector<double> values)
{
    if (values.empty())
        return std::nullopt;
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

inline Figure spread_pct(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    const std::size_t quarter = values.size() / 4, count = values.size();
    if (count < 2 || values[count / 2] <= 0)
        return std::nullopt;
    return 50 * (values[count - 1 - quarter] - values[quarter]) / values[count / 2];
}

} // namespace lab

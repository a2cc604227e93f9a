// SPDX-License-Identifier: MIT OR Apache-2.0
// A histogram with a logarithmic axis, for the terminal's density strips.
#pragma once

#include <boost/histogram.hpp>
#include <cstdint>
#include <vector>

namespace lab
{

// Returns the counts in `bins` bins of equal width in log(value), between low and high.  Values below low count in the
// first bin, values above high in the last bin.
inline std::vector<double> log_histogram(const std::vector<uint64_t> &values, double low, double high, unsigned bins)
{
    namespace bh = boost::histogram;
    auto histogram = bh::make_histogram(bh::axis::regular<double, bh::axis::transform::log>(bins, low, high));
    for (uint64_t value : values)
        histogram(static_cast<double>(value));
    std::vector<double> counts(bins);
    for (unsigned i = 0; i < bins; i++)
        counts[i] = histogram.at(static_cast<int>(i));
    counts.front() += histogram.at(-1);
    counts.back() += histogram.at(static_cast<int>(bins));
    return counts;
}

} // namespace lab

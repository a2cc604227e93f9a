// SPDX-License-Identifier: MIT OR Apache-2.0
// Charts for the terminal: density strips on a logarithmic axis.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lab
{

struct Strip {
    std::string label;
    std::vector<uint64_t> values; // nanoseconds
};

// Returns one line for each strip.  A darker cell contains more samples (on a logarithmic scale).  The mark of the
// largest sample is always visible.  The axis is common to all strips.
std::string density_chart(const std::string &title, const std::vector<Strip> &strips, unsigned width);

} // namespace lab

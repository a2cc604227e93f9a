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

// One line a strip.  The darker a cell, the more samples fall into it (by the logarithm of their share); the mark of
// the largest is always visible.  The axis spans all strips.
std::string density_chart(const std::string &title, const std::vector<Strip> &strips, unsigned width);

} // namespace lab

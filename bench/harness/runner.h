// SPDX-License-Identifier: MIT OR Apache-2.0
// Runs figures round by round, so that what drifts on the machine drifts under every side alike.
#pragma once

#include "harness/figure.h"

namespace bench
{

// What the rounds of a figure gave, a row for each side.
struct Result {
    const Figure *figure;
    std::vector<std::vector<Measured>> sides; // [side][round]
    std::string error;                        // why it has no rounds, or fewer
};

struct Plan {
    std::vector<const Figure *> figures;
    Parameters parameters;
    unsigned rounds = 15;
};

std::vector<Result> run(const Plan &plan);

} // namespace bench

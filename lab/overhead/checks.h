// SPDX-License-Identifier: MIT OR Apache-2.0
// The verdicts of the overhead experiment: the project's bars, and the four conclusions of 2002, judged from the rows.
#pragma once

#include <vector>

#include "overhead/rows.h"
#include "report/verdict.h"

namespace lab::overhead
{

// A mean of samples of a profile is off by about 1/sqrt(samples): 5 per cent here.
constexpr double samples_to_judge = 400;
// A count of misses is off by about 1/sqrt(misses): 3 per cent here, well inside the bound of the same work.
constexpr double misses_to_judge = 1000;

struct CheckInput {
    const std::vector<Row> rows;
    bool judge_times; // false in a quick or an interrupted run: counts only
};

// The project's own bars: a failure of these fails the command.
Verdicts judge_bars(const CheckInput &input);
// The document's conclusions: held, or not reproduced, which a difference inside the spread is too.
Verdicts judge_conclusions(const CheckInput &input);

} // namespace lab::overhead

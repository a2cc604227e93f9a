// SPDX-License-Identifier: MIT OR Apache-2.0
// The verdicts of the overhead experiment: the project's bars, and the four conclusions of 2002, computed from the
// rows.
#pragma once

#include <vector>

#include "overhead/rows.h"
#include "report/verdict.h"

namespace lab::overhead
{

// The relative error of a mean over profile samples is about 1/sqrt(samples): 5 per cent here.
constexpr double samples_to_judge = 400;
// The relative error of a count of misses is about 1/sqrt(misses): 3 per cent here, well within the bound for equal
// work.
constexpr double misses_to_judge = 1000;

struct CheckInput {
    const std::vector<Row> rows;
    bool judge_times; // false in a quick or an interrupted run, where only counts are judged
};

// Judges the project's own bars.  If one is missed, the command fails.
Verdicts judge_bars(const CheckInput &input);
// Judges the document's conclusions: "held" or "not reproduced".  A difference within the spread is "not reproduced".
Verdicts judge_conclusions(const CheckInput &input);

} // namespace lab::overhead

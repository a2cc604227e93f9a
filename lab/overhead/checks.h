// SPDX-License-Identifier: MIT OR Apache-2.0
// What the overhead experiment must show, and the four conclusions of 2002, judged from the rows.
#pragma once

#include <vector>

#include "overhead/rows.h"
#include "report/verdict.h"

namespace lab::overhead
{

struct CheckInput {
    const std::vector<Row> rows;
    bool judge_times; // false in a quick or an interrupted run: counts only
};

// The project's own bars: a failure of these fails the command.
Verdicts judge_bars(const CheckInput &input);
// The document's conclusions: held or not reproduced.
Verdicts judge_conclusions(const CheckInput &input);

} // namespace lab::overhead

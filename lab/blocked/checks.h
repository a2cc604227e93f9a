// SPDX-License-Identifier: MIT OR Apache-2.0
// The verdicts of the blocked experiment.
#pragma once

#include <vector>

#include "blocked/plan.h"
#include "report/verdict.h"

namespace lab::blocked
{

// With `judge_times` false, as in a quick or an interrupted run, only counts are judged.
Verdicts judge(const Plan &plan, bool judge_times);

} // namespace lab::blocked

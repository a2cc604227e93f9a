// SPDX-License-Identifier: MIT OR Apache-2.0
// What the blocked experiment must show.
#pragma once

#include <vector>

#include "blocked/plan.h"
#include "report/verdict.h"

namespace lab::blocked
{

// `judge_times` is false in a quick or an interrupted run: counts only.
Verdicts judge(const Plan &plan, bool judge_times);

} // namespace lab::blocked

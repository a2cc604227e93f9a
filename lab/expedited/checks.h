// SPDX-License-Identifier: MIT OR Apache-2.0
// What the expedited experiment must show, judged from its cells.
#pragma once

#include <vector>

#include "expedited/plan.h"
#include "report/verdict.h"

namespace lab::expedited
{

// `judge_times` is false in a quick or an interrupted run: counts only.
Verdicts judge(const Plan &plan, unsigned cpus, bool judge_times);

} // namespace lab::expedited

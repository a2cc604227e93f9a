// SPDX-License-Identifier: MIT OR Apache-2.0
// The verdicts of the expedited experiment, computed from its cells.
#pragma once

#include <vector>

#include "expedited/plan.h"
#include "report/verdict.h"

namespace lab::expedited
{

// `judge_times` is false in a quick or an interrupted run: then only counts are judged.
Verdicts judge(const Plan &plan, unsigned cpus, bool judge_times);

} // namespace lab::expedited

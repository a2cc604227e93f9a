// SPDX-License-Identifier: MIT OR Apache-2.0
// What the latency experiment must show, judged from its rows.
#pragma once

#include <vector>

#include "latency/rows.h"
#include "report/verdict.h"

namespace lab::latency
{

struct CheckInput {
    const std::vector<Row> rows;
    // Overruns in CPU time of the deadline policy over all workloads, nanoseconds.
    const Samples inline_overrun_cpu;
    // What one timer interrupt takes from whoever runs, nanoseconds: CPU time that is not the callbacks' doing.
    const Samples interrupts;
    bool judge_times; // false in a quick or an interrupted run: counts only
};

// The library reads the clock at least every so many callbacks.
constexpr uint64_t clock_check_worth = 32;

Verdicts judge_latency(const CheckInput &input);

} // namespace lab::latency

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
    // The callbacks' own share of each sample of policy inline, over all workloads, nanoseconds.
    const Samples inline_shares;
    bool judge_times; // false in a quick or an interrupted run: counts only
};

// The library reads the clock at least every so many callbacks.
constexpr uint64_t clock_check_worth = 32;
// The most that callbacks may take from a deadline, and the least throughput, as a share of unbounded's.
constexpr double share_bar_us = 10, throughput_bar = 0.95;

Verdicts judge_latency(const CheckInput &input);

// The backlog of a producer that is pushed back at a limit: within it.  `cut`: it still grew when a round ended.
Verdict judge_backlog(const std::string &label, double most, double limit, bool cut);

// A bar for a quantile: not judged, with the count, where the samples are too few for it.
Verdict judge_quantile(bool judge_it, const std::string &claim, const Figure &us, double bar_us, double samples,
                       double quantile);

} // namespace lab::latency

// SPDX-License-Identifier: MIT OR Apache-2.0
// The verdicts of the latency experiment, computed from its rows.
#pragma once

#include <vector>

#include "latency/rows.h"
#include "report/verdict.h"

namespace lab::latency
{

struct CheckInput {
    const std::vector<Row> rows;
    // With policy inline, over all workloads: the part of each sample's delay that the callbacks themselves took, in
    // nanoseconds.
    const Samples inline_shares;
    bool judge_times; // false in a quick or an interrupted run, where only counts are judged
};

// The library reads the clock at least once in this many callbacks.
constexpr uint64_t clock_check_worth = 32;
// The longest delay by which callbacks may miss a deadline, and the lowest throughput as a fraction of unbounded's.
constexpr double share_bar_us = 10, throughput_bar = 0.95;

Verdicts judge_latency(const CheckInput &input);

// Judges whether the backlog stayed within the limit at which the producer is slowed down.  `cut`: the backlog was
// still growing when a round ended.
Verdict judge_backlog(const std::string &label, double most, double limit, bool cut);

// Judges a quantile against a bar.  With too few samples the verdict is "not judged", and states their number.
Verdict judge_quantile(bool judge_it, const std::string &claim, const Figure &us, double bar_us, double samples,
                       double quantile);

} // namespace lab::latency

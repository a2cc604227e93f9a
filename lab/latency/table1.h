// SPDX-License-Identifier: MIT OR Apache-2.0
// Table 1 of the paper of 2004: stock RCU and its cures under dbench, on one CPU.
//
// As amlat reports the largest lateness of a run, the figure is the largest lateness of a round: its median over the
// rounds, with the bootstrap interval.  The next column is the callbacks' own part of it.
#pragma once

#include <string>
#include <vector>

#include "latency/plan.h"
#include "probe/record.h"
#include "report/row.h"
#include "report/verdict.h"

namespace lab::latency
{

constexpr double table1_goal_us = 250; // the paper's goal, which it did not reach

struct Table1Row : Fields {
    Text label{*this, nullptr, {0, "workload, policy"}};
    Text workload{*this, "workload"}, policy{*this, "policy"};
    Number document_us{*this, "document_us", {0, "2004"}};
    Number late_us{*this, "late_us"}, late_us_low{*this, "late_us_low"}, late_us_high{*this, "late_us_high"};
    Text late_text{*this, nullptr, {0, "largest of a round"}};
    Number share_us{*this, "share_us"}, share_us_low{*this, "share_us_low"}, share_us_high{*this, "share_us_high"};
    Text share_text{*this, nullptr, {0, "callbacks' share"}};
    Number late_us_max{*this, "late_us_max", {0, "of the run"}};
    Count callbacks_per_gp_max{*this, "callbacks_per_gp_max", {0, "gp max"}};
    Count batch_max{*this, "batch_max", {0, "batch max"}};
    Count backlog_max{*this, "backlog_max", {0, "backlog"}};
    Count callbacks_direct{*this, "callbacks_direct", {0, "direct"}};
    Count direct_refused{*this, "direct_refused", {0, "refused"}};
    Number utilisation{*this, "utilisation", {0, "util", "{:.0f} %", 100}};
    Count samples{*this, "samples"}, rounds{*this, "rounds", {0, "rounds"}};

    // The values of each round, in microseconds: the largest lateness, and the callbacks' largest part.
    std::vector<double> each_late_us, each_share_us;
};

Table1Row make_table1_row(const Variant &variant, const VariantRecord &record);
// Computes medians and intervals from the values of the rounds.
void fill_intervals(Table1Row &row);

Verdicts judge_table1(const std::vector<Table1Row> &rows, bool judge_times);

} // namespace lab::latency

// SPDX-License-Identifier: MIT OR Apache-2.0
// Denial of service: a flood saturates the loop beside an ordinary process on the same CPU, under each policy.
//
// The document (2004, future work) says that a console should answer under an attack at full network speed; 100,000
// packets per second once stalled user space for 32 s.  Judged are the console's longest answer, the backlog against
// the limit at which the library slows the producer down, and the packets that were served and dropped.
#pragma once

#include <vector>

#include "latency/plan.h"
#include "probe/console.h"
#include "probe/record.h"
#include "report/row.h"
#include "report/verdict.h"

namespace lab::latency
{

constexpr double console_bar_ms = 100; // an answer within this time seems immediate to a user
// Without a flood an answer takes only its CPU time.  If the median of the floor is above this bar, the machine is busy
// with other work, and nothing is judged.
constexpr double console_quiet_ms = 3 * Console::answer_cpu_ns / 1e6;

struct ConsoleRow : Fields {
    Text label{*this, nullptr, {0, "policy"}};
    Text policy{*this, "policy"};
    Count answers{*this, "answers", {0, "answers"}};
    Number answer_ms_p50{*this, "answer_ms_p50", {0, "p50 ms"}};
    Text cut_mark{*this, nullptr, {0, ""}};
    Number longest_ms{*this, "longest_ms", {0, "longest ms"}};
    Flag longest_cut{*this, "longest_cut"}; // longest_ms is a wait that the end of a round cut short
    Count backlog_max{*this, "backlog_max", {0, "backlog"}};
    Flag backlog_cut{*this, "backlog_cut"};
    Text backlog_mark{*this, nullptr, {0, ""}};
    Count backlog_limit{*this, "backlog_limit", {0, "limit"}};
    Number offered_per_s{*this, "offered_per_s", {0, "offered/s", "{:.0f}"}};
    Number served_per_s{*this, "served_per_s", {0, "served/s", "{:.0f}"}};
    Number dropped_share{*this, "dropped_share", {0, "dropped", "{:.0f} %", 100}};
    Number pushed_back_share{*this, "pushed_back_share", {0, "pushed back", "{:.0f} %", 100}};
    Number late_us_p99{*this, "late_us_p99", {0, "probe p99 µs"}};
    Number utilisation{*this, "utilisation", {0, "util", "{:.0f} %", 100}};
    Number measured_s{*this, "measured_s"};
};

// `operations`: the number of operations in one event of work.  An arrival that the loop could not serve counts as this
// number of dropped packets.
ConsoleRow make_console_row(const Variant &variant, const VariantRecord &record,
                            const std::vector<ConsoleResult> &rounds, unsigned operations);

Verdicts judge_console(const std::vector<ConsoleRow> &rows, bool judge_times);

} // namespace lab::latency

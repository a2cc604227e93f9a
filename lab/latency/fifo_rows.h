// SPDX-License-Identifier: MIT OR Apache-2.0
// The rows, curves and verdicts of a FIFO updater beside ordinary threads.
#pragma once

#include <string>
#include <vector>

#include "latency/fifo.h"
#include "report/row.h"
#include "report/verdict.h"

namespace lab::latency
{

// The bars.  Peak backlogs after 0.3 s and of the whole round: at most these multiples of liburcu's.  Work of the
// ordinary threads: at least this multiple of their work in the variant `ordinary`.
constexpr double fifo_later_bar = 1, fifo_whole_bar = 1.5, fifo_work_bar = 1;

struct FifoRow : Fields {
    Text variant{*this, "variant", {0, "variant"}}, what{*this, "what"};
    Number later{*this, "backlog_later"}, later_low{*this, "backlog_later_low"},
        later_high{*this, "backlog_later_high"};
    Number begin{*this, "backlog_begin", {0, "peak to 0.3 s", "{:.0f}"}};
    Text later_text{*this, nullptr, {0, "peak after 0.3 s"}};
    Number whole{*this, "backlog_whole"}, whole_low{*this, "backlog_whole_low"},
        whole_high{*this, "backlog_whole_high"};
    Text whole_text{*this, nullptr, {0, "peak of the round"}};
    Number late_us_p50{*this, "late_us_p50", {0, "late p50 µs"}}, late_us_p99{*this, "late_us_p99", {0, "p99"}},
        late_us_max{*this, "late_us_max", {0, "max"}};
    Number age_ms_p99{*this, "age_ms_p99", {0, "age p99 ms"}};
    Text age_mark{*this, nullptr, {0, ""}};
    Number age_ms_max{*this, "age_ms_max", {0, "max"}};
    Number work{*this, "work"}, work_low{*this, "work_low"}, work_high{*this, "work_high"};
    Text work_text{*this, nullptr, {0, "ordinary work"}};
    Number ordinary_cpus{*this, "ordinary_cpus", {0, "their CPUs"}},
        others_cpus{*this, "others_cpus", {0, "others' CPUs"}};
    Number own_cpus{*this, "own_cpus", {0, "own CPU", "{:.1f} %", 100}};
    Text realtime_text{*this, nullptr, {0, "real-time"}};
    Count threads{*this, "threads"}, realtime_threads{*this, "realtime_threads"};
    Count due_times{*this, "due_times"}, callbacks{*this, "callbacks"}, unfinished{*this, "unfinished"};
    Count rounds{*this, "rounds", {0, "rounds"}};

    // The values of each round: both peaks of the backlog, and the loops per second of the ordinary threads.
    Numbers each_later{*this, "each_backlog_later"}, each_whole{*this, "each_backlog_whole"};
    Numbers each_loops{*this, "each_loops_per_s"};
};

// The curve of the backlog in one round: the round whose peak after 0.3 s is the median.
struct FifoCurve : Fields {
    Text workload{*this, "workload"}, variant{*this, "variant"};
    Curve backlog{*this, "backlog"}; // milliseconds since the start, callbacks
};

FifoRow make_fifo_row(const FifoVariant &variant, const std::vector<FifoRound> &rounds);
FifoCurve make_fifo_curve(const FifoVariant &variant, const std::vector<FifoRound> &rounds);
// Computes medians and intervals from the values of the rounds.  `rows` must contain all variants, because the work is
// compared with that of `ordinary`.
void fill_fifo_intervals(std::vector<FifoRow> &rows);

Verdicts judge_fifo(const std::vector<FifoRow> &rows, bool judge_times);

} // namespace lab::latency

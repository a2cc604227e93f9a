// SPDX-License-Identifier: MIT OR Apache-2.0
// Rows and tables of the expedited experiment.
#pragma once

#include <string>
#include <vector>

#include "expedited/plan.h"
#include "expedited/summary.h"

namespace lab::expedited
{

// Latency beside many busy readers.
struct BusyRow : Fields {
    Text table{*this, "table"}, peer{*this, "peer"}; // value of `peer`: rtrcu, liburcu-memb, or floor
    Count readers{*this, "readers", {0, "busy readers"}};
    Text label{*this, nullptr, {0, ""}};
    Flag boost{*this, "boost"};
    Count count{*this, "count", {0, "samples"}}, unfinished{*this, "unfinished", {0, "unfinished"}};
    Number p50_ns{*this, "p50_ns", {0, "p50 µs", nullptr, 1e-3}};
    Number p99_ns{*this, "p99_ns", {0, "p99 µs", nullptr, 1e-3}}; // set only with at least 1,000 samples
    Number max_ns{*this, "max_ns", {0, "max µs", nullptr, 1e-3}};
    Number cut_off_ns_max{
        *this, "cut_off_ns_max", {0, "cut off at µs", nullptr, 1e-3}}; // the longest of the calls that were cut off
    Count boosts{*this, "boosts", {0, "boosts"}};
};

// The number of sections that readers completed.
struct ThroughputRow : Fields {
    Text table{*this, "table"};
    Count readers{*this, "readers", {0, "busy readers"}};
    Text label{*this, nullptr, {0, ""}};
    Flag boost{*this, "boost"};
    Number sections_per_s{*this, "sections_per_s", {0, "sections/s"}}; // the median of the experiments
    Number spread_pct{*this, "spread_pct", {0, "+-%"}};                // half the distance between the quartiles
    Number requests_per_s{*this, "requests_per_s", {0, "requests/s"}};
    Number grace_periods_per_s{*this, "grace_periods_per_s", {0, "gps/s"}};
    Number boosts_per_s{*this, "boosts_per_s", {0, "boosts/s"}};
    // The median of the ratios with/without boosting, one from each pair of consecutive experiments; only in the row of
    // the boosted run.
    Number ratio{*this, "ratio", {0, "with/without", "{:.1f}%", 100}};
};

// Interrupts that an isolated reader's CPU received.
struct InterruptRow : Fields {
    Text table{*this, "table"}, name{*this, "variant", {0, "variant"}};
    Count experiments{*this, "experiments", {0, "experiments"}};
    Number interrupts_per_s{*this, "interrupts_per_s", {0, "interrupts/s"}}; // the median of the experiments
    Number spread_pct{*this, "spread_pct", {0, "+-%"}};                      // half the distance between the quartiles
    Number grace_periods_per_s{*this, "grace_periods_per_s", {0, "gps/s"}};
    Number per_grace_period{*this, "interrupts_per_grace_period", {0, "beyond control, each gp", "{:+.3f}"}};
    Number sections_per_s{*this, "sections_per_s", {0, "sections/s"}};
};

// The curve that the page draws for a variant.
struct WorkerCurve : Fields {
    Text environment{*this, "environment"}, worker{*this, "worker"};
    Flag boost{*this, "boost"};
    Curve cdf{*this, "cdf"};
};

BusyRow make_busy_row(const Cell &cell);
std::vector<BusyRow> busy_rows(const Plan &plan);
std::vector<ThroughputRow> throughput_rows(const Plan &plan);
std::vector<InterruptRow> interrupt_rows(const Plan &plan);
Summary summary_of(const Cell *cell); // Returns an empty summary for nullptr.
// Returns a row for each worker with and without boosting, with its difference from the workqueue in per cent.
std::vector<Summary> worker_rows(const Plan &plan);
std::vector<WorkerCurve> worker_curves(const Plan &plan);

// Returns the table `which`.  `durations` and `ranges` are the document's tables, each followed by the same rows of
// this run.  `turned` has the number of grace periods that callers and the worker advanced.  `group`: Group::worker or
// Group::loaded.
std::string document_table(const Plan &plan, Group group, int which);

} // namespace lab::expedited

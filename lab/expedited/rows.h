// SPDX-License-Identifier: MIT OR Apache-2.0
// Rows and tables of the expedited experiment.
#pragma once

#include <string>
#include <vector>

#include "expedited/plan.h"
#include "expedited/summary.h"
#include "report/document.h"

namespace lab::expedited
{

// Latency against many busy readers.
struct BusyRow {
    std::string peer; // rtrcu, liburcu-memb
    unsigned readers = 0;
    bool boost = false;
    uint64_t count = 0, unfinished = 0, boosts = 0;
    Figure p50_ns, p99_ns, max_ns; // p99 from 1,000 samples up
};

// What readers got done.
struct ThroughputRow {
    unsigned readers = 0;
    bool boost = false;
    Figure sections_per_s; // median of the experiments
    Figure spread_pct;     // half the distance of its quartiles
    Figure requests_per_s, grace_periods_per_s, boosts_per_s;
    Figure ratio; // of the boosted run: of each pair of neighbours in time, median
};

BusyRow make_busy_row(const Cell &cell);
std::vector<BusyRow> busy_rows(const Plan &plan);
std::vector<ThroughputRow> throughput_rows(const Plan &plan);
Summary summary_of(const Cell *cell); // empty for nullptr

// Both tables of the document, then the same rows of this run; in the environment of Group::worker or Group::loaded.
std::string duration_table(const Plan &plan, Group group);
std::string range_table(const Plan &plan, Group group);
std::string busy_table(const std::vector<BusyRow> &rows);
std::string throughput_table(const std::vector<ThroughputRow> &rows);

Json all_rows(const Plan &plan);

} // namespace lab::expedited

// SPDX-License-Identifier: MIT OR Apache-2.0
// Rows and tables of the blocked experiment.
#pragma once

#include <string>
#include <vector>

#include "blocked/plan.h"
#include "measure/figure.h"
#include "report/document.h"

namespace lab::blocked
{

// One variant, over all its runs.
struct ListsRow {
    Lists lists = Lists::percpu;
    uint64_t runs = 0;
    Figure iterations_per_s_mean, iterations_per_s_stddev;
    Figure preempted_pct; // of the CPUs' time, as it came out
    // The leaf's lock beside preemptors and grace periods: of whoever held it, of readers alone, and without
    // preemption.
    Figure lock_hold_us_mean, lock_hold_us_max, reader_hold_us_mean, reader_hold_us_max;
    Figure unpreempted_hold_us_mean, unpreempted_hold_us_max;
    Figure reader_wait_us_mean, reader_wait_us_max;
    Figure reader_lock_pct; // of the carriers' time: held and waited for
    // While no grace period waits, and with grace periods now and then.
    Figure lock_acquisitions_per_iteration, lock_acquisitions_per_iteration_with_gp;
    Figure reader_lock_pct_without_gp;
    uint64_t promotions = 0;
    Figure promotion_ns; // each, as measured beside preemptors
    uint64_t grace_periods = 0, errors = 0;
    Figure gp_latency_us_p50, gp_latency_us_p99, floor_us_p50, floor_us_p99;
};

ListsRow make_row(const Cell &cell, unsigned carriers, std::size_t cpus);
std::vector<ListsRow> lists_rows(const Plan &plan);
const ListsRow *find_row(const std::vector<ListsRow> &rows, Lists lists);
// By how much more `after` is than `before`, per cent.
Figure gain_pct(const Figure &before, const Figure &after);

std::vector<double> iterations_per_s(const Cell &cell);
std::vector<uint64_t> gp_latencies(const Cell &cell);

std::string lists_table(const Plan &plan);
std::string lock_table(const Plan &plan);
std::string order_table(const Plan &plan);
std::string crowd_table(const Plan &plan);

Json all_rows(const Plan &plan);

} // namespace lab::blocked

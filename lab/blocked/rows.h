// SPDX-License-Identifier: MIT OR Apache-2.0
// The rows of the blocked experiment, and their tables.
#pragma once

#include <string>
#include <vector>

#include "blocked/plan.h"
#include "report/row.h"
#include "report/sums.h"

namespace lab::blocked
{

constexpr int iterations = 0, leaf_lock = 1; // the tables of the lists

// One variant, summed over all its runs.
struct ListsRow : Fields {
    Text label{*this, nullptr, {every_table, "lists"}};
    Text table{*this, "table"}, lists{*this, "lists"};
    Count readers{*this, "readers"}, carriers{*this, "carriers"}, preemptors{*this, "preemptors"};
    Count runs{*this, "runs", {iterations, "runs"}};
    Number iterations_per_s_mean{*this, "iterations_per_s_mean", {iterations, "iterations/s"}};
    Number iterations_per_s_stddev{*this, "iterations_per_s_stddev", {iterations, "+-"}};
    Number over_spin_pct{*this, nullptr, {iterations, "over node-spin", "{:+.0f}%"}};
    Number preempted_pct{*this, "preempted_pct", {iterations, "preempted %"}}; // measured share of the CPUs' time
    Count grace_periods{*this, "grace_periods", {iterations, "gps"}}, errors{*this, "reader_errors"};
    Number gp_latency_us_p50{*this, "gp_latency_us_p50", {iterations, "gp p50 µs"}};
    Number gp_latency_us_p99{*this, "gp_latency_us_p99", {iterations, "gp p99 µs"}};
    Number floor_us_p50{*this, "floor_us_p50", {iterations, "floor p50 µs"}};
    Number floor_us_p99{*this, "floor_us_p99", {iterations, "floor p99 µs"}};
    // Acquisitions of the leaf's lock: while no grace period waits, and with grace periods at intervals.
    Number lock_acquisitions_per_iteration{
        *this, "lock_acquisitions_per_iteration", {leaf_lock, "locks/iteration", "{:.5f}"}};
    Number lock_acquisitions_per_iteration_with_gp{
        *this, "lock_acquisitions_per_iteration_with_gp", {leaf_lock, "with gps", "{:.5f}"}};
    // Percentage of the carriers' time in which they held the lock or waited for it: while no grace period waits, and
    // with grace periods at intervals.
    Number reader_lock_pct_without_gp{*this, "reader_lock_pct_without_gp", {leaf_lock, "readers' %"}};
    Number reader_lock_pct{*this, "reader_lock_pct", {leaf_lock, "with gps "}};
    // Hold times of the leaf's lock beside preemptors and grace periods: per iteration and per acquisition for all
    // holders; per acquisition for readers alone; per acquisition for all holders without preemption.
    Number lock_hold_ns_per_iteration{*this, "lock_hold_ns_per_iteration", {leaf_lock, "hold ns/iteration"}};
    Number lock_hold_us_mean{*this, "lock_hold_us_mean", {leaf_lock, "hold µs"}};
    Number lock_hold_us_max{*this, "lock_hold_us_max", {leaf_lock, "max"}};
    Number reader_hold_us_mean{*this, "reader_hold_us_mean", {leaf_lock, "of readers"}};
    Number reader_hold_us_max{*this, "reader_hold_us_max", {leaf_lock, "max "}};
    Number reader_wait_us_mean{*this, "reader_wait_us_mean", {leaf_lock, "wait µs"}};
    Number reader_wait_us_max{*this, "reader_wait_us_max", {leaf_lock, "max  "}};
    Number unpreempted_hold_us_mean{*this, "unpreempted_hold_us_mean", {leaf_lock, "unpreempted"}};
    Number unpreempted_hold_us_max{*this, "unpreempted_hold_us_max"};
    Count promotions{*this, "promotions", {leaf_lock, "promoted"}};
    Number promotions_per_acquisition{*this, "promotions_per_acquisition", {leaf_lock, "each lock"}};
    Number lock_acquisitions_per_iteration_all{*this,
                                               "lock_acquisitions_per_iteration_all"}; // acquisitions of all holders
    Number promotion_ns{*this, "promotion_ns"}; // time for each task, measured beside preemptors
};

// Counts of the tasks for which grace periods waited.
struct OrderRow : Fields {
    Text table{*this, "table"}, lists{*this, "lists", {0, "lists"}};
    Count rounds{*this, "rounds", {0, "rounds"}}, older{*this, "older", {0, "older"}};
    Count later{*this, "later", {0, "later"}}, ended_early{*this, "ended_early", {0, "ended early"}};
    Count not_ended{*this, "not_ended", {0, "not ended"}};
    Count older_not_waited{*this, "older_not_waited", {0, "older not waited for"}};
    Count later_waited_for{*this, "later_waited_for", {0, "later waited for"}};
    Number found_us_p50{*this, "found_us_p50", {0, "found after µs p50"}};
};

// The cost of a large number of parked tasks.
struct CrowdRow : Fields {
    Text table{*this, "table"}, lists{*this, "lists", {0, "lists"}};
    Count tasks{*this, "tasks", {0, "parked"}};
    Number bytes_each{*this, "bytes_each", {0, "bytes each"}}, park_ns{*this, "park_ns", {0, "park ns"}};
    Number unlock_ns{*this, "unlock_ns", {0, "unlock ns"}};
    Number promotion_ns_each{*this, "promotion_ns_each", {0, "promotion ns each"}};
    Number begin_us{*this, "begin_us", {0, "begin µs"}}, end_us{*this, "end_us", {0, "end µs"}};
    Number spread_us{*this, "spread_us", {0, "+-"}}; // spread of begin and end together
    Number gp_without_us{*this, "gp_without_us", {0, "gp with none µs"}};
    Number lock_hold_us_max{*this, "lock_hold_us_max", {0, "lock hold max µs"}};
};

// The curve that the page draws for a variant.
struct ListsCurve : Fields {
    Text lists{*this, "lists"};
    Numbers iterations_per_s{*this, "iterations_per_s"};
    Counts hold_log2{*this, "hold_log2"};
    Curve cdf{*this, "cdf"};
};

ListsRow make_row(const Cell &cell, unsigned carriers, std::size_t cpus);
std::vector<ListsRow> lists_rows(const Plan &plan);
std::vector<OrderRow> order_rows(const Plan &plan);
std::vector<CrowdRow> crowd_rows(const Plan &plan);
ListsCurve make_curve(const Cell &cell);
const ListsRow *find_row(const std::vector<ListsRow> &rows, Lists lists);

// One value for each run.
std::vector<double> iterations_per_s(const Cell &cell);
std::vector<Part> hold_ns_and_iterations(const Cell &cell);
std::vector<Part> hold_ns_and_acquisitions(const Cell &cell);
// Returns for each run's phase without grace periods: the nanoseconds for which readers held the node's lock or waited
// for it, and the length of the phase in seconds.
std::vector<Part> lock_ns_and_seconds(const Cell &cell);
std::vector<uint64_t> gp_latencies(const Cell &cell);

// Returns the reason why the mean hold time of an acquisition rises although an iteration holds the lock for less time;
// empty if it does not rise.
std::string why_mean_hold_rises(const ListsRow &before, const ListsRow &after);

// Returns a table whose first rows are the document's figures.  The document has no standard deviations.
std::string lists_table(const Plan &plan, int which);

} // namespace lab::blocked

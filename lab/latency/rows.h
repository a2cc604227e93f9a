// SPDX-License-Identifier: MIT OR Apache-2.0
// The rows of the latency experiment, computed from the records of each variant.
#pragma once

#include <string>
#include <vector>

#include "latency/plan.h"
#include "measure/quantile.h"
#include "probe/record.h"
#include "report/row.h"

namespace lab::latency
{

constexpr int lateness = 0, reclaimed = 1; // the tables in which rows are shown

// One row: a variant measured by one of the two probes.  Times are in microseconds unless the name says otherwise.
struct Row : Fields {
    Text label{*this, nullptr, {every_table, "workload, policy"}};
    Text workload{*this, "workload"}, policy{*this, "policy"}, probe{*this, "probe"}, scheduling{*this, "scheduling"};
    Count burst{*this, "burst"};
    Count samples{*this, "samples", {lateness, "samples"}};
    Number p50_us{*this, "p50_us", {lateness, "p50"}}, p99_us{*this, "p99_us", {lateness, "p99"}};
    Number p999_us{*this, "p999_us", {lateness, "p99.9"}}, p9999_us{*this, "p9999_us", {lateness, "p99.99"}};
    Number max_us{*this, "max_us", {lateness, "max"}};
    Number floor_p99_us{*this, "floor_p99_us", {lateness, "floor p99"}};
    Number floor_p999_us{*this, "floor_p999_us", {lateness, "p99.9"}};
    // For the control thread: the medians over the rounds of each round's p99, of this row and of its floor.
    Number round_p99_us{*this, "round_p99_us"}, floor_round_p99_us{*this, "floor_round_p99_us"};
    Number control_p99_us{*this, nullptr, {lateness, "control p99"}};
    Count callbacks{*this, "callbacks", {reclaimed, "callbacks"}};
    Count callbacks_per_gp_p50{*this, "callbacks_per_gp_p50", {reclaimed, "gp p50"}};
    Count callbacks_per_gp_max{*this, "callbacks_per_gp_max", {reclaimed, "gp max"}};
    Count batch_max{*this, "batch_max"};
    Number callback_ns{*this, "callback_ns", {reclaimed, "ns"}};
    Number overrun_us_p99{*this, "overrun_us_p99"},
        overrun_us_p999{*this, "overrun_us_p999", {reclaimed, "over p99.9"}};
    Number overrun_us_p9999{*this, "overrun_us_p9999"}, overrun_us_max{*this, "overrun_us_max", {reclaimed, "max"}};
    Number overrun_cpu_us_p999{*this, "overrun_cpu_us_p999"};
    Number overrun_cpu_us_p9999{*this, "overrun_cpu_us_p9999"};
    Number overrun_cpu_us_max{*this, "overrun_cpu_us_max"};
    // The 95th percentile over the samples that were due during a batch: nearly a whole batch.
    Number overrun_cpu_us_full{*this, "overrun_cpu_us_full"}, callback_share_us_full{*this, "callback_share_us_full"};
    // The part of a sample's delay that the callbacks themselves took, without timer interrupts: an upper bound.
    Number callback_share_us_p99{*this, "callback_share_us_p99"};
    Number callback_share_us_p999{*this, "callback_share_us_p999", {reclaimed, "share p99.9"}};
    Number callback_share_us_p9999{*this, "callback_share_us_p9999", {reclaimed, "p99.99"}};
    Number callback_share_us_max{*this, "callback_share_us_max", {reclaimed, "max"}};
    Count overrun_callbacks_max{*this, "overrun_callbacks_max", {reclaimed, "late"}};
    Count backlog_max{*this, "backlog_max", {reclaimed, "backlog"}};
    // The backlog was still growing when a round ended, so its real maximum is not known.
    Flag backlog_cut{*this, "backlog_cut"};
    Text backlog_mark{*this, nullptr, {reclaimed, ""}};
    Count backlog_limit{*this, "backlog_limit"}; // the backlog at which the producer is slowed down: qmax
    Count callbacks_direct{*this, "callbacks_direct", {reclaimed, "direct"}};
    Count direct_refused{*this, "direct_refused", {reclaimed, "refused"}};
    Number utilisation{*this, "utilisation", {lateness, "util", "{:.0f} %", 100}};
    Number ops_per_s{*this, "ops_per_s", {lateness, "kops/s", nullptr, 1e-3}};
    Number ops_per_loop_cpu_s{*this, "ops_per_loop_cpu_s"}, process_cpus{*this, "process_cpus"};
    // ops_per_cpu_s: operations per second of CPU time of the loop and the back-end's threads.  helper_cpus: the number
    // of CPUs that the back-end's threads use.
    Number ops_per_cpu_s{*this, "ops_per_cpu_s", {lateness, "kops/CPU s", nullptr, 1e-3}};
    Number helper_cpus{*this, "helper_cpus"};
    Count grace_periods{*this, "grace_periods"}, deadline_stops{*this, "deadline_stops"};
    Count budget_stops{*this, "budget_stops"}, over_qmax{*this, "over_qmax"}, limit_raised{*this, "limit_raised"};
    Count bursts{*this, "bursts"}, work_events_lost{*this, "work_events_lost"}, rounds{*this, "rounds"};

    // The value of each round, for verdicts that need a spread.
    std::vector<double> each_ops_per_cpu_s, each_p99_us;
};

// The curve that the page draws for a variant.
struct VariantCurve : Fields {
    Text label{*this, "label"}, workload{*this, "workload"}, policy{*this, "policy"};
    Count burst{*this, "burst"};
    Flag fifo{*this, "fifo"};
    Curve cdf{*this, "cdf"}, backlog{*this, "backlog"}, invocations{*this, "invocations"};
    // The timeline of the 100 ms around the worst sample, in milliseconds.  A curve has the begin and the end of each
    // span; batch_callbacks and helper_callbacks have the number of callbacks in each batch.
    Number traced_late_us{*this, "traced_late_us"};
    Curve deadlines{*this, "deadlines"}, sections{*this, "sections"};
    Numbers grace_periods{*this, "grace_periods"}; // times at which the loop saw a new grace period
    Curve batches{*this, "batches"}, helper_batches{*this, "helper_batches"};
    lab::Counts batch_callbacks{*this, "batch_callbacks"}, helper_callbacks{*this, "helper_callbacks"};
};

// Returns the row of a variant under probe "loop" or "thread".
Row make_row(const Variant &variant, const VariantRecord &record, const std::string &probe);
VariantCurve make_curve(const Variant &variant, const VariantRecord &record);

// Copies figures from other rows into each row: those of its floor (same workload and probe, policy none), and of its
// control.
void fill_floors(std::vector<Row> &rows);

const Row *find_row(const std::vector<Row> &rows, const std::string &workload, const std::string &policy,
                    const std::string &probe, uint64_t burst = 0);

Samples loop_lateness(const VariantRecord &record);
Samples callback_share(const VariantRecord &record);

// Returns the loop's rows as a table for the terminal.
std::string rows_table(const std::vector<Row> &rows, int which);

} // namespace lab::latency

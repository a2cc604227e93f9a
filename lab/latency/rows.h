// SPDX-License-Identifier: MIT OR Apache-2.0
// The rows of the latency experiment: figures from what each variant recorded.
#pragma once

#include <string>
#include <vector>

#include "latency/plan.h"
#include "measure/figure.h"
#include "measure/quantile.h"
#include "probe/record.h"
#include "report/document.h"
#include "report/table.h"

namespace lab
{

// One row: a variant under one of the two probes.  Times in microseconds unless the name says otherwise.
struct Row {
    std::string workload, policy, probe, scheduling;
    uint64_t burst = 0;
    uint64_t samples = 0;
    Figure p50_us, p99_us, p999_us, p9999_us, max_us, floor_p99_us, floor_p999_us;
    Figure round_p99_us, floor_round_p99_us; // of the control: p99 of a round, the median over the rounds
    Figure callbacks, callbacks_per_gp_p50, callbacks_per_gp_max, batch_max, callback_ns;
    Figure overrun_us_p99, overrun_us_p999, overrun_us_p9999, overrun_us_max;
    Figure overrun_cpu_us_p999, overrun_cpu_us_p9999, overrun_cpu_us_max, overrun_callbacks_max;
    Figure overrun_cpu_us_full; // of the due times that a batch ran into, the 95th percentile: nearly a whole batch
    Figure backlog_max, ops_per_s, ops_per_loop_cpu_s, utilisation, process_cpus;
    Figure grace_periods, deadline_stops, budget_stops, over_qmax, limit_raised, bursts, work_events_lost, rounds;

    std::string label() const;
};

// The row of a variant under probe "loop" or "thread".
Row make_row(const Variant &variant, const VariantRecord &record, const std::string &probe);

// Fill in the floor: the same workload and probe with policy none.
void fill_floors(std::vector<Row> &rows);

Json to_json(const Row &row);

const Row *find_row(const std::vector<Row> &rows, const std::string &workload, const std::string &policy,
                    const std::string &probe, uint64_t burst = 0);

Samples loop_lateness(const VariantRecord &record);
Samples thread_lateness(const VariantRecord &record);
Samples overrun_cpu(const VariantRecord &record);

// The measured rows as a table for the terminal.
std::string latency_table(const std::vector<Row> &rows);
std::string callback_table(const std::vector<Row> &rows);

} // namespace lab

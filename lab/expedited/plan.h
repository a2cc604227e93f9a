// SPDX-License-Identifier: MIT OR Apache-2.0
// The cells of the expedited experiment: its variant, its number of experiments, its results.
#pragma once

#include <string>
#include <vector>

#include "expedited/child.h"
#include "expedited/interrupts.h"

namespace lab::expedited
{

// Groups of cells.  Each group answers one question, and its cells are measured alternately.
enum class Group {
    worker,     // the two tables published in 2022: which thread runs the grace period, while hogs use the CPUs
    busy,       // more busy readers than CPUs, with and without boosting, beside liburcu
    throughput, // the cost of boosting for readers, at equal rates of requests
    loaded,     // the cells of `worker`, beside the load of another process group
};
constexpr int groups = 4;

struct Cell {
    Group group;
    Variant variant;
    std::string error; // the reason why the variant was left out
    std::vector<std::vector<uint64_t>>
        latency_ns;                     // for each experiment: latencies of the calls that returned while readers ran
    std::vector<uint64_t> cut_off_ns;   // lower bounds: calls that were cut off by the end of their experiment
    std::vector<double> sections_per_s; // of each experiment
    uint64_t experiments = 0;
    Outcomes sum{};
    uint64_t lost = 0;

    void add(const ExperimentRecord &record);
    std::vector<uint64_t> all_latencies() const;
};

struct GroupPlan {
    unsigned experiments = 1;
    int64_t duration_ns = 0;
};

struct Plan {
    std::vector<Cell> cells;
    GroupPlan group[groups];
    std::vector<InterruptCell> interrupts;
    GroupPlan interrupt_plan;
};

// Plans the experiment.  `seconds`: approximate time for all groups together.
Plan make_plan(bool quick, double seconds, unsigned cpus);

const Cell *find_cell(const Plan &plan, Group group, Call call, unsigned readers, bool boost,
                      Worker worker = Worker::kthread);
// Returns the cell with the same calls and normal=1, for the document's tables.
const Cell *find_normal_cell(const Plan &plan, Group group);
const InterruptCell *find_interrupts(const Plan &plan, Isolation isolation);

} // namespace lab::expedited

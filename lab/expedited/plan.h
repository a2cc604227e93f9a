// SPDX-License-Identifier: MIT OR Apache-2.0
// The cells of the expedited experiment: what is measured, how often, and what came of it.
#pragma once

#include <string>
#include <vector>

#include "expedited/child.h"
#include "expedited/interrupts.h"

namespace lab::expedited
{

// Three questions, each a group of cells that alternate.
enum class Group {
    worker,     // the document's tables: who runs the grace period, beside hogs
    busy,       // more busy readers than CPUs, boosted and not, beside liburcu
    throughput, // what boosting costs the readers, at an equal rate of requests
    loaded,     // as worker, beside another process group's load
};
constexpr int groups = 4;

struct Cell {
    Group group;
    Variant variant;
    std::string error;                             // why it was left out
    std::vector<std::vector<uint64_t>> latency_ns; // of each experiment: calls that returned while readers ran
    std::vector<uint64_t> cut_off_ns;              // of calls that the end of their experiment cut off
    std::vector<double> sections_per_s;            // of each experiment
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

// `seconds`: about how long all of it may take.
Plan make_plan(bool quick, double seconds, unsigned cpus);

const Cell *find_cell(const Plan &plan, Group group, Call call, unsigned readers, bool boost,
                      Worker worker = Worker::kthread);
// Of the tables: the same calls with normal=1.
const Cell *find_normal_cell(const Plan &plan, Group group);
const InterruptCell *find_interrupts(const Plan &plan, Isolation isolation);

} // namespace lab::expedited

// SPDX-License-Identifier: MIT OR Apache-2.0
// The variants of the latency experiment: workload, back-end, policy, and duration.
#pragma once

#include <string>
#include <vector>

#include "peer/peer.h"

namespace lab::latency
{

struct PolicyRow {
    const char *name;
    const Peer *peer;
    PeerSettings settings;
    const char *what;
    bool push_back = false; // the flood drops operations at the library's limit on the backlog; else: without a limit
};

// Every policy that this build can run.
const std::vector<PolicyRow> &policy_table();
const PolicyRow *find_policy(const std::string &name);

// The purpose of a variant.
enum class Part {
    rows,    // a row of the experiment's tables
    table1,  // a row of the paper's Table 1: all threads on one CPU, as on the paper's machine
    console, // a flood that never ends, beside an ordinary process on the same CPU
};

struct Variant {
    std::string workload; // dcache, route, both, flood, console
    const PolicyRow *policy;
    uint64_t burst; // flood: the number of callbacks that one grace period makes ready
    bool fifo;
    double weight; // relative share of the measured time
    Part part = Part::rows;

    std::string label() const;
    bool one_cpu() const
    {
        return part != Part::rows;
    }
};

// The policies that Table 1 compares with the floor and with `unbounded`, which is the paper's stock kernel.
extern const std::vector<std::string> table1_policies;

constexpr uint64_t flood_burst = 30'000;
// Sizes of smaller bursts: the callbacks that one grace period made ready in the document under load, and a larger
// number.
constexpr uint64_t smaller_bursts[] = {1'660, 10'000};

struct PlanOptions {
    std::vector<std::string> workloads; // empty: all workloads
    std::vector<std::string> policies;  // empty: the policies that belong to each workload
    bool fifo = true;                   // false: every row runs as SCHED_OTHER
    bool compare_other = true;          // add a row that runs as SCHED_OTHER
    bool judge_tail = true;             // rows whose p99.9 or p99.99 is judged are measured for longer
    PeerSettings settings;              // added to the settings of each policy of this library
};

// Returns true if the workload fifo is requested.  This workload has no event loop and no policies, so the plan has no
// variants of it.
bool wants_fifo(const PlanOptions &options);
// Returns false and sets a message if a name does not exist, or if an option does not fit a workload.
bool make_plan(const PlanOptions &options, std::vector<Variant> &plan, std::string &error);

} // namespace lab::latency

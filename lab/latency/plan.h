// SPDX-License-Identifier: MIT OR Apache-2.0
// The variants of the latency experiment: which workload over which back-end and policy, for how long.
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
    bool push_back = false; // the flood honours the library's limit; the documents' call_rcu() had none
};

// Every policy that this build can run.
const std::vector<PolicyRow> &policy_table();
const PolicyRow *find_policy(const std::string &name);

// What a variant is for.
enum class Part {
    rows,    // a row of the experiment's tables
    table1,  // a row of the paper's Table 1: everything on one CPU, as on the paper's machine
    console, // a flood that never ends, beside an ordinary process on the same CPU
};

struct Variant {
    std::string workload; // dcache, route, both, flood, console
    const PolicyRow *policy;
    uint64_t burst; // flood: callbacks that one grace period makes ready
    bool fifo;
    double weight; // share of the measured time
    Part part = Part::rows;

    std::string label() const;
    bool one_cpu() const
    {
        return part != Part::rows;
    }
};

// The cures of Table 1, and ours beside them; unbounded is its stock kernel.
extern const std::vector<std::string> table1_policies;

constexpr uint64_t flood_burst = 30'000;
// Callbacks after one grace period in the documents: under load, and the same made larger.
constexpr uint64_t smaller_bursts[] = {1'660, 10'000};

struct PlanOptions {
    std::vector<std::string> workloads; // empty: all
    std::vector<std::string> policies;  // empty: those that the workload is about
    bool fifo = true;                   // false: every row as SCHED_OTHER
    bool compare_other = true;          // one row more as SCHED_OTHER
    bool judge_tail = true;             // rows whose p99.9 and p99.99 are judged get the time that these need
    PeerSettings settings;              // added to those of each policy of this library
};

// False with a message for a name that does not exist.
bool make_plan(const PlanOptions &options, std::vector<Variant> &plan, std::string &error);

} // namespace lab::latency

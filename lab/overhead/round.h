// SPDX-License-Identifier: MIT OR Apache-2.0
// One round of one engine in a process of its own: forwarding threads, and their costs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "overhead/engine.h"
#include "overhead/symbols.h"
#include "workload/prefixes.h"
#include "workload/workload.h"

namespace lab::overhead
{

struct Environment {
    const char *name; // rare, frequent
    RouteParameters route;
    const char *what;
};
const std::vector<Environment> &environment_table();

struct RoundOptions {
    std::vector<int> cpus;
    unsigned threads =
        2; // forwarding threads, bound to the CPUs in turn; if one CPU is kept free, at most one per remaining CPU
    int64_t warm_up_ns = 60'000'000;
    int64_t measure_ns = 400'000'000;
    int64_t sample_period_ns = 250'000;
    bool allow_perf = true;
    uint64_t seed = 1;
    int64_t end_ns = 0;    // a round that still runs at this time is killed and has no result; 0: no limit
    PeerSettings settings; // added to the settings of the engine
};

struct FunctionTicks {
    char name[72];
    Work work;
    uint32_t padding;
    uint64_t ticks;
};

constexpr std::size_t functions_max = 256;
constexpr std::size_t waits_max = 4096;

// Results of a round, which the child stores in shared memory.
struct RoundResult {
    uint64_t packets, hits, misses, expired;
    int64_t wall_ns;
    int64_t process_cpu_ns;
    int64_t forwarder_cpu_ns;
    uint64_t backlog_max;
    uint64_t callbacks;     // callbacks invoked; for a layer, those of the layer only
    uint64_t grace_periods; // grace periods that ended
    uint64_t over_qmax;
    uint64_t switches; // context switches of all threads except the thread that takes snapshots
    uint32_t threads;  // the number of forwarding threads
    uint32_t padding;
    int64_t sample_period_ns;
    uint64_t samples, samples_lost;
    bool sampled_all_threads, named;
    char profile_source[16];
    uint64_t wait_count;
    uint64_t waited_ns[waits_max]; // from call_rcu() to the begin of the callback
    uint64_t function_count;
    FunctionTicks functions[functions_max];
};

// Return the number of forwarding threads of this engine, and their CPUs.
unsigned threads_for(const EngineRow &engine, const RoundOptions &options);
std::vector<int> cpus_for(const EngineRow &engine, const RoundOptions &options);

// Runs a round in the calling process, which must end afterwards, because threads of the library and unreclaimed memory
// remain. Throws on errors.
void run_round(const EngineRow &engine, const RouteParameters &route, const PrefixTable &prefixes,
               const RoundOptions &options, RoundResult &result);

// Runs a round in a child, for a bounded time.  Returns false and sets `error` if it fails.
bool run_round_in_child(const EngineRow &engine, const RouteParameters &route, const PrefixTable &prefixes,
                        const RoundOptions &options, RoundResult &result, std::string &error);

} // namespace lab::overhead

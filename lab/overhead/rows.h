// SPDX-License-Identifier: MIT OR Apache-2.0
// The figures of one engine in one environment, over all rounds.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "measure/figure.h"
#include "overhead/round.h"

namespace lab::overhead
{

// What the rounds of an engine add up to.
struct Total {
    const EngineRow *engine = nullptr;
    const Environment *environment = nullptr;
    std::string error; // why it was left out
    unsigned rounds = 0;
    uint64_t packets = 0, hits = 0, misses = 0, expired = 0, callbacks = 0, grace_periods = 0, over_qmax = 0;
    int64_t wall_ns = 0, process_cpu_ns = 0, forwarder_cpu_ns = 0;
    uint64_t backlog_max = 0, samples = 0, samples_lost = 0;
    bool sampled_all_threads = false, named = false;
    std::string profile_source;
    std::vector<uint64_t> waited_ns;
    std::vector<double> cpu_ns_per_packet; // each round
    std::map<std::pair<std::string, Work>, uint64_t> ticks;

    void add(const RoundResult &result);
};

struct Row {
    std::string engine, variant, environment;
    Figure packets_per_s, cpu_ns_per_packet, cpu_spread_pct;
    Figure lookup_ns, update_ns, rcu_ns, traffic_ns, other_ns; // CPU nanoseconds a packet, by share of samples
    Figure rcu_threads_ns;                                     // exact: of the library's threads
    Figure call_rcu_ns;                                        // to queue a callback, a callback
    Figure net_gain_pct;                                       // CPU a packet against base with one lock
    Figure net_gain_chain_locks_pct;                           // against base with a lock a chain
    Figure document_gain_pct; // as the document counts: lookup saved, less the cost of RCU, of base's lookup
    Figure gp_latency_us_p50, gp_latency_us_p99, backlog_max;
    Figure callbacks_per_s, grace_periods_per_s, misses_per_packet, over_qmax, samples, samples_lost, rounds;

    std::string label() const
    {
        return variant.empty() ? engine : engine + "/" + variant;
    }
};

constexpr const char *base_one_lock = "base/one lock";
constexpr const char *base_chain_locks = "base/chain locks";

Row make_row(const Total &total);
// Fill in what compares a row with those of base in its environment.
void fill_gains(std::vector<Row> &rows);
const Row *find_row(const std::vector<Row> &rows, const std::string &label, const std::string &environment);

// Is this function part of queueing a callback?
bool queues_callback(const std::string &function);

} // namespace lab::overhead

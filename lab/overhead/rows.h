// SPDX-License-Identifier: MIT OR Apache-2.0
// The figures of one engine in one environment, over all rounds.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "overhead/round.h"
#include "report/row.h"

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
    // 0 where the function was not seen.
    double ticks_a_million_packets(const std::pair<std::string, Work> &function) const;
};

constexpr int cost = 0, callbacks = 1; // the tables

struct Row : Fields {
    Text label{*this, nullptr, {every_table, "engine"}};
    Text engine{*this, "engine"}, variant{*this, "variant"}, environment{*this, "environment"};
    Number packets_per_s{*this, "packets_per_s", {cost, "packets/s"}};
    Number cpu_ns_per_packet{*this, "cpu_ns_per_packet", {cost, "cpu ns"}};
    Number cpu_spread_pct{*this, "cpu_spread_pct", {cost, "+-%"}};
    // CPU nanoseconds a packet, by share of samples.
    Number lookup_ns{*this, "lookup_ns", {cost, "lookup"}}, update_ns{*this, "update_ns", {cost, "update"}};
    Number rcu_ns{*this, "rcu_ns", {cost, "rcu"}}, traffic_ns{*this, "traffic_ns", {cost, "traffic"}};
    Number other_ns{*this, "other_ns", {cost, "other"}};
    // CPU a packet against base with one lock, and with a lock a chain.
    Number net_gain_pct{*this, "net_gain_pct", {cost, "gain %"}};
    Number net_gain_chain_locks_pct{*this, "net_gain_chain_locks_pct", {cost, "over chain locks %"}};
    // As the document counts: lookup saved, less the cost of RCU, of base's lookup.
    Number document_gain_pct{*this, "document_gain_pct", {cost, "as OLS 2002 %"}};
    Number gp_latency_us_p50{*this, "gp_latency_us_p50", {callbacks, "gp latency µs p50"}};
    Number gp_latency_us_p99{*this, "gp_latency_us_p99", {callbacks, "p99"}};
    Number callbacks_per_s{*this, "callbacks_per_s", {callbacks, "callbacks/s"}};
    Number grace_periods_per_s{*this, "grace_periods_per_s", {callbacks, "gps/s"}};
    Count backlog_max{*this, "backlog_max", {callbacks, "backlog max"}};
    Count over_qmax{*this, "over_qmax", {callbacks, "over qmax"}};
    Number call_rcu_ns{*this, "call_rcu_ns", {callbacks, "call_rcu ns"}}; // to queue a callback, a callback
    // Exact: of the library's threads.
    Number rcu_threads_ns{*this, "rcu_threads_ns", {callbacks, "rcu threads ns/packet"}};
    Number misses_per_packet{*this, "misses_per_packet"};
    Count samples{*this, "samples"}, samples_lost{*this, "samples_lost"}, rounds{*this, "rounds"};
};

// A function's samples under an engine.
struct FunctionRow : Fields {
    Text engine{*this, "engine"}, variant{*this, "variant"}, environment{*this, "environment"};
    Text function{*this, "function"}, work{*this, "work"};
    Count ticks{*this, "ticks"};
    Number ticks_per_million_packets{*this, "ticks_per_million_packets"};
};

constexpr const char *base_one_lock = "base/one lock";
constexpr const char *base_chain_locks = "base/chain locks";

Row make_row(const Total &total);
std::vector<FunctionRow> function_rows(const Total &total);
// Fill in what compares a row with those of base in its environment.
void fill_gains(std::vector<Row> &rows);
const Row *find_row(const std::vector<Row> &rows, const std::string &label, const std::string &environment);

// Is this function part of queueing a callback?
bool queues_callback(const std::string &function);

} // namespace lab::overhead

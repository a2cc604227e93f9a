// SPDX-License-Identifier: MIT OR Apache-2.0
// The figures of one engine in one environment, over all rounds.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "overhead/published.h"
#include "overhead/round.h"
#include "report/row.h"

namespace lab::overhead
{

// The figures of one round.  The figures of all rounds show the spread.
struct RoundFigures {
    Figure cpu_ns, rcu_ns, document_ns, call_rcu_ns, gp_latency_us, misses_per_packet;
};

// The sum of an engine's rounds.
struct Total {
    const EngineRow *engine = nullptr;
    const Environment *environment = nullptr;
    std::string error; // the reason why the engine was left out
    unsigned rounds = 0;
    uint64_t packets = 0, hits = 0, misses = 0, expired = 0, callbacks = 0, grace_periods = 0, over_qmax = 0;
    uint64_t switches = 0;
    unsigned threads = 0;
    int64_t wall_ns = 0, process_cpu_ns = 0, forwarder_cpu_ns = 0;
    uint64_t backlog_max = 0, samples = 0, samples_lost = 0;
    bool sampled_all_threads = false, named = false;
    std::string profile_source;
    std::vector<uint64_t> waited_ns;
    std::vector<RoundFigures> each; // the figures of each round
    std::map<std::pair<std::string, Work>, uint64_t> ticks;

    void add(const RoundResult &result);
    double a_million_packets(uint64_t some) const;
    // Returns the function's ticks for a million packets; 0 if the profile does not contain it.
    double ticks_a_million_packets(const std::pair<std::string, Work> &function) const;
    // Returns the ticks of all functions that correspond to this function of 2002.
    double counterpart_ticks(const std::string &published) const;
    bool polls() const;

  private:
    void accumulate(const RoundResult &result);
};

constexpr int cost = 0, callbacks = 1; // the tables in which rows are shown

struct Row : Fields {
    Row();
    Text table{*this, "table"}; // "engine"
    Text label{*this, "label", {every_table, "engine"}};
    Text engine{*this, "engine"}, variant{*this, "variant"}, environment{*this, "environment"};
    Count threads{*this, "threads"}; // forwarding threads
    Number packets_per_s{*this, "packets_per_s", {cost, "packets/s"}};
    Number cpu_ns_per_packet{*this, "cpu_ns_per_packet", {cost, "cpu ns"}}; // by CPU clocks, not by the profile
    Number cpu_spread_pct{*this, "cpu_spread_pct", {cost, "+-%"}};
    // CPU nanoseconds for each packet by kind of work, computed from the kind's share of the profile's samples.
    Number lookup_ns{*this, "lookup_ns", {cost, "lookup"}}, update_ns{*this, "update_ns", {cost, "update"}};
    Number rcu_ns{*this, "rcu_ns", {cost, "rcu"}}, traffic_ns{*this, "traffic_ns", {cost, "traffic"}};
    Number other_ns{*this, "other_ns", {cost, "other"}};
    // The part of rcu_ns in the driver's own functions, and in system calls that give up the CPU.
    Number schedule_ns{*this, "schedule_ns", {cost, "rcu: schedule"}};
    // Look-up and RCU work without `schedule`, as in the sums of 2002.
    Number document_ns{*this, "document_ns", {cost, "lookup + rcu as OLS 2002"}};
    Number document_spread_pct{*this, "document_spread_pct", {cost, "+-% "}};
    Number rcu_spread_pct{*this, "rcu_spread_pct"};
    // The CPU time saved for each packet, compared with base, with base with one lock, and with base with a spinning
    // lock for each chain.  All have as many forwarding threads as this row.
    Number net_gain_pct{*this, "net_gain_pct", {cost, "gain %"}};
    Number net_gain_one_lock_pct{*this, "net_gain_one_lock_pct", {cost, "over one lock %"}};
    Number net_gain_chain_locks_pct{*this, "net_gain_chain_locks_pct", {cost, "over chain locks %"}};
    // Computed as in the document: base's look-up minus look-up and RCU work, in per cent of base's look-up.
    Number document_gain_pct{*this, "document_gain_pct", {cost, "gain as OLS 2002 %"}};
    Number gp_latency_us_p50{*this, "gp_latency_us_p50", {callbacks, "gp latency µs p50"}};
    Number gp_latency_us_p99{*this, "gp_latency_us_p99", {callbacks, "p99"}};
    // The noise floor: the lateness of a thread of the same class that sleeps until an absolute time.
    Number floor_us_p50{*this, "floor_us_p50", {callbacks, "floor µs p50"}};
    Number floor_us_p99{*this, "floor_us_p99", {callbacks, "p99 "}};
    Number callbacks_per_s{*this, "callbacks_per_s", {callbacks, "callbacks/s"}};
    Number grace_periods_per_s{*this, "grace_periods_per_s", {callbacks, "gps/s"}};
    Count backlog_max{*this, "backlog_max", {callbacks, "backlog max"}};
    Count over_qmax{*this, "over_qmax", {callbacks, "over qmax"}};
    Number call_rcu_ns{*this, "call_rcu_ns", {callbacks, "call_rcu ns"}}; // time of one call that queues a callback
    Number call_rcu_spread_pct{*this, "call_rcu_spread_pct", {callbacks, "+-%"}};
    Count call_rcu_samples{*this, "call_rcu_samples", {callbacks, "samples"}};
    // CPU time of the library's threads, from their CPU clocks and not from samples.
    Number rcu_threads_ns{*this, "rcu_threads_ns", {callbacks, "rcu threads ns/packet"}};
    Number switches_per_s{*this, "switches_per_s", {callbacks, "switches/s"}}; // context switches of all threads
    Number misses_per_packet{*this, "misses_per_packet"};
    // The counts on which the figures are based: samples in look-up and RCU work, samples in RCU work, misses, and
    // deleted entries.
    Count document_samples{*this, "document_samples"}, rcu_samples{*this, "rcu_samples"};
    Count misses{*this, "misses"}, deleted{*this, "deleted"};
    Count samples{*this, "samples"}, samples_lost{*this, "samples_lost"}, rounds{*this, "rounds"};

    std::vector<RoundFigures> each;
};

// A function's samples under one engine.
struct FunctionRow : Fields {
    Text table{*this, "table"}; // "function"
    Text label{*this, "label"}, engine{*this, "engine"}, variant{*this, "variant"}, environment{*this, "environment"};
    Text function{*this, "function"}, work{*this, "work"};
    Text published{*this, "published"}; // the corresponding function of 2002; empty: there is none
    Count ticks{*this, "ticks"};
    Number ticks_per_million_packets{*this, "ticks_per_million_packets"};
};

// A function of 2002, and the samples of our corresponding functions under one engine.
struct CounterpartRow : Fields {
    Text table{*this, "table"}; // "counterpart"
    Text environment{*this, "environment"}, label{*this, "label"};
    Text published{*this, "published"}, ours{*this, "ours"};
    Number ticks_per_million_packets{*this, "ticks_per_million_packets"};
    // `ticks_per_million_packets`, scaled so that base's look-up has its published number of ticks; empty in a run
    // without base.
    Number ticks_as_published{*this, "ticks_as_published"};
};

constexpr const char *base_counted_chains = "base", *base_one_lock = "base/one lock";
constexpr const char *base_chain_locks = "base/chain locks", *base_free_cpu = "base/free CPU";

Row make_row(const Total &total);
std::vector<FunctionRow> function_rows(const Total &total);
// Returns the rows of every engine in this environment, with functions in the order of the published tables.
std::vector<CounterpartRow> counterpart_rows(const std::vector<Total> &totals, const std::string &environment);
// Fills in the figures that compare a row with the base rows of its environment.
void fill_gains(std::vector<Row> &rows);
// Returns the base with which a row is compared: the base with as many forwarding threads.
std::string base_of(const Row &row);
const Row *find_row(const std::vector<Row> &rows, const std::string &label, const std::string &environment);

} // namespace lab::overhead

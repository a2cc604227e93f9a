// SPDX-License-Identifier: MIT OR Apache-2.0
// Adds rounds up and makes figures of them.
#include "overhead/rows.h"

#include <algorithm>
#include <numeric>

#include "measure/quantile.h"

namespace lab::overhead
{

void Total::add(const RoundResult &result)
{
    rounds++;
    packets += result.packets;
    hits += result.hits;
    misses += result.misses;
    expired += result.expired;
    callbacks += result.callbacks;
    grace_periods += result.grace_periods;
    over_qmax += result.over_qmax;
    wall_ns += result.wall_ns;
    process_cpu_ns += result.process_cpu_ns;
    forwarder_cpu_ns += result.forwarder_cpu_ns;
    backlog_max = std::max(backlog_max, result.backlog_max);
    samples += result.samples;
    samples_lost += result.samples_lost;
    sampled_all_threads = result.sampled_all_threads;
    named = result.named;
    profile_source = result.profile_source;
    waited_ns.insert(waited_ns.end(), result.waited_ns, result.waited_ns + result.wait_count);
    if (result.packets != 0)
        cpu_ns_per_packet.push_back(static_cast<double>(result.process_cpu_ns) / static_cast<double>(result.packets));
    for (std::size_t i = 0; i < result.function_count; i++)
        ticks[{result.functions[i].name, result.functions[i].work}] += result.functions[i].ticks;
}

double Total::ticks_a_million_packets(const std::pair<std::string, Work> &function) const
{
    const auto found = ticks.find(function);
    return found == ticks.end() || packets == 0
               ? 0
               : static_cast<double>(found->second) * 1e6 / static_cast<double>(packets);
}

std::vector<FunctionRow> function_rows(const Total &total)
{
    std::vector<FunctionRow> rows;
    for (const auto &[function, ticks] : total.ticks) {
        FunctionRow &row = rows.emplace_back();
        row.engine = total.engine->name;
        row.variant = total.engine->variant;
        row.environment = total.environment->name;
        row.function = function.first;
        row.work = work_name(function.second);
        row.ticks = static_cast<double>(ticks);
        row.ticks_per_million_packets = total.ticks_a_million_packets(function);
    }
    return rows;
}

bool queues_callback(const std::string &function)
{
    for (const char *prefix : {"retire_", "counted_reclaim", "GlobalQueue::enqueue", "rtrcu_call", "callback_enqueue",
                               "cbqueue_push", "call_slow", "own_record"})
        if (function.rfind(prefix, 0) == 0)
            return true;
    return false;
}

// The share of samples in each kind of work, of the CPU time that was sampled.
static void fill_shares(const Total &total, double packets, Row &row)
{
    if (total.samples == 0)
        return;
    const int64_t sampled_ns = total.sampled_all_threads ? total.process_cpu_ns : total.forwarder_cpu_ns;
    const double each_ns = static_cast<double>(sampled_ns) / static_cast<double>(total.samples);
    double ns[work_kinds] = {}, queueing_ns = 0;
    for (const auto &[function, ticks] : total.ticks) {
        ns[static_cast<std::size_t>(function.second)] += static_cast<double>(ticks) * each_ns;
        if (queues_callback(function.first))
            queueing_ns += static_cast<double>(ticks) * each_ns;
    }
    if (!total.sampled_all_threads) // what was not sampled are the library's threads
        ns[static_cast<std::size_t>(Work::rcu)] += static_cast<double>(total.process_cpu_ns - total.forwarder_cpu_ns);
    Number *figures[work_kinds] = {&row.lookup_ns, &row.update_ns, &row.rcu_ns, &row.traffic_ns, &row.other_ns};
    for (std::size_t i = 0; i < work_kinds; i++)
        *figures[i] = ns[i] / packets;
    if (total.expired > 100 && total.engine->guard == Guard::rcu)
        row.call_rcu_ns = queueing_ns / static_cast<double>(total.expired);
}

Row make_row(const Total &total)
{
    Row row;
    row.engine = total.engine->name;
    row.variant = total.engine->variant;
    row.environment = total.environment->name;
    row.label = total.engine->label();
    row.rounds = total.rounds;
    if (total.packets == 0)
        return row;
    const auto packets = static_cast<double>(total.packets);
    const double seconds = static_cast<double>(total.wall_ns) / 1e9;
    row.packets_per_s = packets / seconds;
    row.cpu_ns_per_packet = static_cast<double>(total.process_cpu_ns) / packets;
    row.cpu_spread_pct = spread_pct(total.cpu_ns_per_packet);
    row.misses_per_packet = static_cast<double>(total.misses) / packets;
    row.samples = static_cast<double>(total.samples);
    row.samples_lost = static_cast<double>(total.samples_lost);
    fill_shares(total, packets, row);
    if (total.engine->guard != Guard::rcu)
        return row;
    row.rcu_threads_ns = static_cast<double>(total.process_cpu_ns - total.forwarder_cpu_ns) / packets;
    row.backlog_max = static_cast<double>(total.backlog_max);
    row.callbacks_per_s = static_cast<double>(total.callbacks) / seconds;
    row.grace_periods_per_s = static_cast<double>(total.grace_periods) / seconds;
    row.over_qmax = static_cast<double>(total.over_qmax);
    const Samples waits(total.waited_ns);
    row.gp_latency_us_p50 = scaled(waits.quantile(0.5), 1e-3);
    row.gp_latency_us_p99 = scaled(waits.quantile(0.99), 1e-3);
    return row;
}

const Row *find_row(const std::vector<Row> &rows, const std::string &label, const std::string &environment)
{
    for (const Row &row : rows)
        if (row.label == label && row.environment == environment)
            return &row;
    return nullptr;
}

// What is saved.
static Figure gain_pct(const Figure &base, const Figure &ours)
{
    return scaled(diff_pct(base, ours), -1);
}

void fill_gains(std::vector<Row> &rows)
{
    for (Row &row : rows) {
        const Row *one = find_row(rows, base_one_lock, row.environment);
        const Row *chains = find_row(rows, base_chain_locks, row.environment);
        if (one != nullptr) {
            row.net_gain_pct = gain_pct(one->cpu_ns_per_packet, row.cpu_ns_per_packet);
            if (row.lookup_ns && row.rcu_ns)
                row.document_gain_pct = gain_pct(one->lookup_ns, *row.lookup_ns + *row.rcu_ns);
        }
        if (chains != nullptr)
            row.net_gain_chain_locks_pct = gain_pct(chains->cpu_ns_per_packet, row.cpu_ns_per_packet);
    }
}

} // namespace lab::overhead

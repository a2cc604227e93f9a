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

bool queues_callback(const std::string &function)
{
    for (const char *prefix : {"retire_", "counted_reclaim", "GlobalQueue::enqueue", "rtrcu_call", "callback_enqueue",
                               "cbqueue_push", "call_slow", "own_record"})
        if (function.rfind(prefix, 0) == 0)
            return true;
    return false;
}

// Half the distance between the quartiles of the rounds, of their median.
static Figure spread_pct(std::vector<double> values)
{
    if (values.size() < 2)
        return std::nullopt;
    std::sort(values.begin(), values.end());
    const double low = values[values.size() / 4], high = values[values.size() - 1 - values.size() / 4];
    return 50 * (high - low) / values[values.size() / 2];
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
    Figure *figures[work_kinds] = {&row.lookup_ns, &row.update_ns, &row.rcu_ns, &row.traffic_ns, &row.other_ns};
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
    if (auto p50 = waits.quantile(0.5))
        row.gp_latency_us_p50 = static_cast<double>(*p50) / 1000;
    if (auto p99 = waits.quantile(0.99))
        row.gp_latency_us_p99 = static_cast<double>(*p99) / 1000;
    return row;
}

const Row *find_row(const std::vector<Row> &rows, const std::string &label, const std::string &environment)
{
    for (const Row &row : rows)
        if (row.label() == label && row.environment == environment)
            return &row;
    return nullptr;
}

static Figure gain_pct(const Figure &base, const Figure &ours)
{
    if (!base || !ours || *base <= 0)
        return std::nullopt;
    return 100 * (*base - *ours) / *base;
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

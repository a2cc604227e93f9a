// SPDX-License-Identifier: MIT OR Apache-2.0
// Sums the rounds and computes the figures.
#include "overhead/rows.h"

#include <algorithm>
#include <numeric>

#include "measure/quantile.h"

namespace lab::overhead
{

Row::Row()
{
    table = "engine";
}

void Total::accumulate(const RoundResult &result)
{
    rounds++;
    packets += result.packets;
    hits += result.hits;
    misses += result.misses;
    expired += result.expired;
    callbacks += result.callbacks;
    grace_periods += result.grace_periods;
    over_qmax += result.over_qmax;
    switches += result.switches;
    threads = result.threads;
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
    for (std::size_t i = 0; i < result.function_count; i++)
        ticks[{result.functions[i].name, result.functions[i].work}] += result.functions[i].ticks;
}

void Total::add(const RoundResult &result)
{
    accumulate(result);
    Total one;
    one.engine = engine;
    one.environment = environment;
    one.accumulate(result);
    const Row row = make_row(one);
    each.push_back({row.cpu_ns_per_packet, row.rcu_ns, row.document_ns, row.call_rcu_ns, row.gp_latency_us_p50,
                    row.misses_per_packet});
}

double Total::a_million_packets(uint64_t some) const
{
    return packets == 0 ? 0 : static_cast<double>(some) * 1e6 / static_cast<double>(packets);
}

double Total::ticks_a_million_packets(const std::pair<std::string, Work> &function) const
{
    const auto found = ticks.find(function);
    return found == ticks.end() ? 0 : a_million_packets(found->second);
}

bool Total::polls() const
{
    return std::string("poll") == engine->name;
}

double Total::counterpart_ticks(const std::string &published) const
{
    uint64_t sum = 0;
    for (const auto &[function, count] : ticks) {
        const char *name = published_function(step_of(function.first, function.second), polls());
        if (name != nullptr && published == name)
            sum += count;
    }
    return a_million_packets(sum);
}

std::vector<FunctionRow> function_rows(const Total &total)
{
    std::vector<FunctionRow> rows;
    for (const auto &[function, ticks] : total.ticks) {
        FunctionRow &row = rows.emplace_back();
        const char *published = published_function(step_of(function.first, function.second), total.polls());
        row.table = "function";
        row.label = total.engine->label();
        row.engine = total.engine->name;
        row.variant = total.engine->variant;
        row.environment = total.environment->name;
        row.function = function.first;
        row.work = work_name(function.second);
        row.published = published != nullptr ? published : "";
        row.ticks = static_cast<double>(ticks);
        row.ticks_per_million_packets = total.ticks_a_million_packets(function);
    }
    return rows;
}

// Returns the factor that converts our ticks per million packets to published ticks: the published ticks of the look-up
// of the engine `base`, divided by our ticks of that look-up.
static Figure published_unit(const std::vector<Total> &totals, const std::string &environment)
{
    const PublishedEngine &base = published_engines().front();
    for (const Total &total : totals)
        if (total.environment->name == environment && total.engine->label() == base.label) {
            const PublishedRow lookup = published_rows(environment).front();
            return ratio((lookup.*base.ticks).value_or(0), total.counterpart_ticks(lookup.function));
        }
    return std::nullopt;
}

std::vector<CounterpartRow> counterpart_rows(const std::vector<Total> &totals, const std::string &environment)
{
    std::vector<CounterpartRow> rows;
    const Figure unit = published_unit(totals, environment);
    for (const Counterpart &counterpart : counterparts())
        for (const Total &total : totals) {
            if (total.environment->name != environment || total.packets == 0)
                continue;
            CounterpartRow &row = rows.emplace_back();
            row.table = "counterpart";
            row.environment = environment;
            row.label = total.engine->label();
            row.published = counterpart.function;
            row.ours = counterpart.ours;
            row.ticks_per_million_packets = total.counterpart_ticks(counterpart.function);
            row.ticks_as_published = unit ? Figure(*unit * *row.ticks_per_million_packets) : std::nullopt;
        }
    return rows;
}

// Fills in the CPU nanoseconds of each kind of work, computed from its share of the samples.
static void fill_shares(const Total &total, double packets, Row &row)
{
    if (total.samples == 0)
        return;
    const int64_t sampled_ns = total.sampled_all_threads ? total.process_cpu_ns : total.forwarder_cpu_ns;
    const double each_ns = static_cast<double>(sampled_ns) / static_cast<double>(total.samples);
    double ns[work_kinds] = {}, queueing = 0, schedule = 0, document = 0, rcu = 0;
    for (const auto &[function, ticks] : total.ticks) {
        const auto count = static_cast<double>(ticks);
        const Step step = step_of(function.first, function.second);
        ns[static_cast<std::size_t>(function.second)] += count * each_ns;
        rcu += function.second == Work::rcu ? count : 0;
        queueing += step == Step::queue ? count : 0;
        schedule += step == Step::schedule ? count : 0;
        document += step != Step::schedule && step != Step::none ? count : 0;
    }
    double unsampled_ns = 0; // CPU time of the library's threads
    if (!total.sampled_all_threads)
        unsampled_ns = static_cast<double>(total.process_cpu_ns - total.forwarder_cpu_ns);
    ns[static_cast<std::size_t>(Work::rcu)] += unsampled_ns;
    Number *figures[work_kinds] = {&row.lookup_ns, &row.update_ns, &row.rcu_ns, &row.traffic_ns, &row.other_ns};
    for (std::size_t i = 0; i < work_kinds; i++)
        *figures[i] = ns[i] / packets;
    row.schedule_ns = schedule * each_ns / packets;
    row.document_ns = (document * each_ns + unsampled_ns) / packets;
    row.document_samples = document;
    row.rcu_samples = rcu;
    if (total.expired <= 100 || total.engine->guard != Guard::rcu)
        return;
    row.call_rcu_ns = queueing * each_ns / static_cast<double>(total.expired);
    row.call_rcu_samples = queueing;
}

// Returns half the distance between the quartiles of the rounds, in per cent of their median.
static Figure spread_of_rounds(const Row &row, Figure RoundFigures::*figure)
{
    std::vector<double> values;
    for (const RoundFigures &round : row.each)
        if (round.*figure)
            values.push_back(*(round.*figure));
    return spread_pct(values);
}

Row make_row(const Total &total)
{
    Row row;
    row.engine = total.engine->name;
    row.variant = total.engine->variant;
    row.environment = total.environment->name;
    row.label = total.engine->label();
    row.rounds = total.rounds;
    row.threads = total.threads;
    row.each = total.each;
    if (total.packets == 0)
        return row;
    const auto packets = static_cast<double>(total.packets);
    const double seconds = static_cast<double>(total.wall_ns) / 1e9;
    row.packets_per_s = packets / seconds;
    row.cpu_ns_per_packet = static_cast<double>(total.process_cpu_ns) / packets;
    row.cpu_spread_pct = spread_of_rounds(row, &RoundFigures::cpu_ns);
    row.document_spread_pct = spread_of_rounds(row, &RoundFigures::document_ns);
    row.rcu_spread_pct = spread_of_rounds(row, &RoundFigures::rcu_ns);
    row.call_rcu_spread_pct = spread_of_rounds(row, &RoundFigures::call_rcu_ns);
    row.switches_per_s = static_cast<double>(total.switches) / seconds;
    row.misses_per_packet = static_cast<double>(total.misses) / packets;
    row.misses = static_cast<double>(total.misses);
    row.deleted = static_cast<double>(total.expired);
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

// Returns the part of the base's figure that `ours` saves, in per cent.
static Figure gain_pct(const Figure &base, const Figure &ours)
{
    return scaled(diff_pct(base, ours), -1);
}

static Figure cpu_gain_pct(const std::vector<Row> &rows, const Row &row, const std::string &base)
{
    const Row *found = find_row(rows, base, row.environment);
    return found != nullptr ? gain_pct(found->cpu_ns_per_packet, row.cpu_ns_per_packet) : std::nullopt;
}

std::string base_of(const Row &row)
{
    const EngineRow *engine = find_engine(row.label);
    return engine != nullptr && engine->keeps_cpu_free ? base_free_cpu : base_counted_chains;
}

void fill_gains(std::vector<Row> &rows)
{
    for (Row &row : rows) {
        row.net_gain_pct = cpu_gain_pct(rows, row, base_of(row));
        if (base_of(row) == base_counted_chains) {
            row.net_gain_one_lock_pct = cpu_gain_pct(rows, row, base_one_lock);
            row.net_gain_chain_locks_pct = cpu_gain_pct(rows, row, base_chain_locks);
        }
        if (const Row *base = find_row(rows, base_of(row), row.environment))
            row.document_gain_pct = gain_pct(base->document_ns, row.document_ns);
    }
}

} // namespace lab::overhead

// SPDX-License-Identifier: MIT OR Apache-2.0
// Makes rows from records.
#include "latency/rows.h"

#include <algorithm>
#include <fmt/format.h>

namespace lab::latency
{

template <class Source, class Pick> static Samples collect(const Source &source, Pick pick)
{
    std::vector<uint64_t> values(source.count());
    for (std::size_t i = 0; i < values.size(); i++)
        values[i] = pick(source[i]);
    return Samples(std::move(values));
}

Samples loop_lateness(const VariantRecord &record)
{
    return collect(record.loop, [](const ProbeSample &sample) { return sample.late_ns; });
}

Samples callback_share(const VariantRecord &record)
{
    return collect(record.loop, [](const ProbeSample &sample) { return sample.share_ns; });
}

static Figure micro(const std::optional<uint64_t> &ns)
{
    return scaled(ns, 1e-3);
}

static void fill_lateness(Row &row, const Samples &late)
{
    row.samples = late.count();
    row.p50_us = micro(late.quantile(0.5));
    row.p99_us = micro(late.quantile(0.99));
    row.p999_us = micro(late.quantile(0.999));
    row.p9999_us = micro(late.quantile(0.9999));
    row.max_us = micro(late.max());
}

// Fills in the largest backlog, and whether a round ended with the largest backlog.
static void fill_backlog(Row &row, const VariantRecord &record)
{
    const uint64_t most = record.sum().backlog_max;
    row.backlog_max = static_cast<double>(most);
    bool cut = false;
    for (std::size_t i = 0; i < record.rounds.count(); i++)
        cut = cut || (most != 0 && record.rounds[i].backlog_end >= most);
    row.backlog_cut = cut;
    row.backlog_mark = cut ? "still growing" : "";
    if (record.sum().backlog_limit != 0)
        row.backlog_limit = static_cast<double>(record.sum().backlog_limit);
}

static void fill_callbacks(Row &row, const Variant &variant, const VariantRecord &record)
{
    const Totals &sum = record.sum();
    Samples a_gp = collect(record.callbacks_a_gp, [](uint32_t value) { return value; });
    Samples batches = collect(record.batches, [](uint32_t value) { return value; });
    row.callbacks = static_cast<double>(sum.callbacks);
    row.callbacks_per_gp_p50 = scaled(a_gp.quantile_of_few(0.5));
    row.callbacks_per_gp_max = scaled(a_gp.max());
    row.batch_max = scaled(batches.max());
    // The time of a callback is unknown for a back-end that runs callbacks immediately: the time between two of its
    // callbacks also contains the program's work.
    if (sum.callback_ns > 0 && variant.policy->peer != &none_peer && !variant.policy->peer->single_reader)
        row.callback_ns = sum.callback_ns;
    fill_backlog(row, record);
    if (variant.policy->peer->grace_period_number != nullptr) {
        row.grace_periods = static_cast<double>(sum.grace_periods);
        row.deadline_stops = static_cast<double>(sum.deadline_stops);
        row.budget_stops = static_cast<double>(sum.budget_stops);
        row.over_qmax = static_cast<double>(sum.over_qmax);
        row.limit_raised = static_cast<double>(sum.limit_raised);
        row.callbacks_direct = static_cast<double>(sum.direct);
        row.direct_refused = static_cast<double>(sum.direct_refused);
    }
    if (variant.burst != 0)
        row.bursts = static_cast<double>(sum.bursts);
}

static void fill_overrun(Row &row, const VariantRecord &record)
{
    Samples wall = collect(record.loop, [](const ProbeSample &sample) { return sample.overrun_ns; });
    Samples cpu = collect(record.loop, [](const ProbeSample &sample) { return sample.overrun_cpu_ns; });
    row.overrun_us_p99 = micro(wall.quantile(0.99));
    row.overrun_us_p999 = micro(wall.quantile(0.999));
    row.overrun_us_p9999 = micro(wall.quantile(0.9999));
    row.overrun_us_max = micro(wall.max());
    row.overrun_cpu_us_p999 = micro(cpu.quantile(0.999));
    row.overrun_cpu_us_p9999 = micro(cpu.quantile(0.9999));
    row.overrun_cpu_us_max = micro(cpu.max());
    const Samples share = callback_share(record);
    row.callback_share_us_p99 = micro(share.quantile(0.99));
    row.callback_share_us_p999 = micro(share.quantile(0.999));
    row.callback_share_us_p9999 = micro(share.quantile(0.9999));
    row.callback_share_us_max = micro(share.max());
    std::vector<uint64_t> hit_cpu, hit_share;
    for (std::size_t i = 0; i < record.loop.count(); i++) {
        if (record.loop[i].overrun_callbacks == 0)
            continue;
        hit_cpu.push_back(record.loop[i].overrun_cpu_ns);
        hit_share.push_back(record.loop[i].share_ns);
    }
    row.overrun_cpu_us_full = micro(Samples(std::move(hit_cpu)).quantile_of_few(0.95));
    row.callback_share_us_full = micro(Samples(std::move(hit_share)).quantile_of_few(0.95));
    row.overrun_callbacks_max =
        scaled(collect(record.loop, [](const ProbeSample &sample) { return sample.overrun_callbacks; }).max());
}

// Returns the p99 of each of the control's rounds, in microseconds.
static std::vector<double> round_p99s(const VariantRecord &record)
{
    const std::size_t rounds = record.sum().rounds, each = rounds == 0 ? 0 : record.thread.count() / rounds;
    std::vector<double> p99s;
    for (std::size_t round = 0; each != 0 && round < rounds; round++) {
        std::vector<uint64_t> late(each);
        for (std::size_t i = 0; i < each; i++)
            late[i] = record.thread[round * each + i];
        p99s.push_back(static_cast<double>(*Samples(std::move(late)).quantile_of_few(0.99)) / 1000);
    }
    return p99s;
}

static void fill_throughput(Row &row, const VariantRecord &record)
{
    const Totals &sum = record.sum();
    const auto wall = static_cast<double>(sum.wall_ns), cpu = static_cast<double>(sum.loop_cpu_ns);
    const auto operations = static_cast<double>(sum.operations);
    row.ops_per_s = ratio(operations * 1e9, wall);
    row.ops_per_loop_cpu_s = ratio(operations * 1e9, cpu);
    const auto helpers = static_cast<double>(sum.helper_cpu_ns);
    row.ops_per_cpu_s = ratio(operations * 1e9, cpu + helpers);
    row.helper_cpus = ratio(helpers, wall);
    for (std::size_t i = 0; i < record.rounds.count(); i++) {
        const RoundSample &round = record.rounds[i];
        const auto all_cpu = static_cast<double>(round.loop_cpu_ns + round.helper_cpu_ns);
        row.each_ops_per_cpu_s.push_back(ratio(static_cast<double>(round.operations) * 1e9, all_cpu).value_or(0));
    }
    row.utilisation = ratio(cpu, wall);
    row.process_cpus = ratio(static_cast<double>(sum.process_cpu_ns), wall);
    row.work_events_lost = static_cast<double>(sum.work_events_lost);
    row.rounds = static_cast<double>(sum.rounds);
}

Row make_row(const Variant &variant, const VariantRecord &record, const std::string &probe)
{
    Row row;
    row.workload = variant.workload;
    row.policy = variant.policy->name;
    row.probe = probe;
    row.scheduling = record.sum().fifo ? "fifo" : "other";
    row.burst = variant.burst;
    row.label = variant.label();
    if (probe == "loop")
        fill_lateness(row, loop_lateness(record));
    else
        fill_lateness(row, collect(record.thread, [](uint32_t late_ns) { return late_ns; }));
    fill_callbacks(row, variant, record);
    if (probe == "loop") {
        fill_overrun(row, record);
    } else {
        // The median over the rounds, since a machine that stops for milliseconds spoils only a few rounds.
        row.each_p99_us = round_p99s(record);
        row.round_p99_us = median(row.each_p99_us);
    }
    fill_throughput(row, record);
    return row;
}

const Row *find_row(const std::vector<Row> &rows, const std::string &workload, const std::string &policy,
                    const std::string &probe, uint64_t burst)
{
    // Prefer a SCHED_FIFO row; a row that ran as SCHED_OTHER is returned only if no SCHED_FIFO row fits.
    const Row *found = nullptr;
    for (const Row &row : rows) {
        bool same = row.workload == workload && row.policy == policy && row.probe == probe;
        const double its_burst = row.burst.value_or(0);
        if (same &&
            (burst == 0 ? its_burst == 0 || its_burst == flood_burst : its_burst == static_cast<double>(burst)) &&
            (found == nullptr || (found->scheduling == "other" && row.scheduling == "fifo")))
            found = &row;
    }
    return found;
}

void fill_floors(std::vector<Row> &rows)
{
    for (Row &row : rows) {
        if (const Row *floor = find_row(rows, row.workload, "none", row.probe)) {
            row.floor_p99_us = floor->p99_us;
            row.floor_p999_us = floor->p999_us;
            row.floor_round_p99_us = floor->round_p99_us;
        }
        for (const Row &other : rows)
            if (row.probe == "loop" && other.probe == "thread" && other.label == row.label)
                row.control_p99_us = other.p99_us;
    }
}

static void fill_timeline(VariantCurve &curve, const VariantRecord &record)
{
    if (record.trace.count() != 0)
        curve.traced_late_us = static_cast<double>(record.sum().traced_late_ns) / 1e3;
    for (std::size_t i = 0; i < record.trace.count(); i++) {
        const TraceEvent &event = record.trace[i];
        const std::pair<double, double> span{static_cast<double>(event.begin_ns) / 1e6,
                                             static_cast<double>(event.end_ns) / 1e6};
        switch (event.kind) {
        case TraceEvent::deadline:
            curve.deadlines.push_back(span);
            break;
        case TraceEvent::batch:
            curve.batches.push_back(span);
            curve.batch_callbacks.push_back(event.callbacks);
            break;
        case TraceEvent::helper_batch:
            curve.helper_batches.push_back(span);
            curve.helper_callbacks.push_back(event.callbacks);
            break;
        case TraceEvent::grace_period:
            curve.grace_periods.push_back(span.first);
            break;
        case TraceEvent::section:
            curve.sections.push_back(span);
            break;
        }
    }
}

VariantCurve make_curve(const Variant &variant, const VariantRecord &record)
{
    constexpr std::size_t curve_points = 400, backlog_points = 2000;
    VariantCurve curve;
    curve.label = variant.label();
    curve.workload = variant.workload;
    curve.policy = variant.policy->name;
    curve.burst = variant.burst;
    curve.fifo = variant.fifo;
    curve.cdf = loop_lateness(record).cdf(curve_points, 1e-3);
    // The largest value of each stretch, because the plot must show the spikes.
    const std::size_t count = record.backlog.count(), stretch = count / backlog_points + 1;
    for (std::size_t i = 0; i < count; i += stretch) {
        BacklogSample peak = record.backlog[i];
        for (std::size_t j = i; j < std::min(i + stretch, count); j++)
            if (record.backlog[j].backlog > peak.backlog)
                peak = record.backlog[j];
        curve.backlog.emplace_back(peak.at_ms, peak.backlog);
    }
    for (std::size_t i = 0; i < record.invocations.count(); i++)
        curve.invocations.emplace_back(record.invocations[i].backlog_max, record.invocations[i].p99_us);
    fill_timeline(curve, record);
    return curve;
}

std::string rows_table(const std::vector<Row> &rows, int which)
{
    Table table;
    add_columns(table, which, Row());
    for (const Row &row : rows) {
        if (row.probe != "loop" || (which == reclaimed && row.policy == "none"))
            continue;
        table.group(row.workload);
        table.row(cells_of(which, row));
    }
    return table.text();
}

} // namespace lab::latency

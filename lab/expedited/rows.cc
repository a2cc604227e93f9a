// SPDX-License-Identifier: MIT OR Apache-2.0
// Makes rows from cells, and the document's tables.
#include "expedited/rows.h"

#include <algorithm>
#include <fmt/format.h>

#include "measure/quantile.h"

namespace lab::expedited
{
namespace
{

// The figures that were published in 2022, for workqueue and for kthread, and whether the table shows their
// difference.
struct Published {
    double before, after;
    bool has_diff;
};
const std::vector<Published> published_durations = {
    {725, 688, false},      {326, 447, true},           {39428, 38971, true},    {98225, 69743, true},
    {342122, 126638, true}, {372766967, 2329671, true}, {2746353, 151242, true}, {19327765, 294408, false},
};
const std::vector<Published> published_ranges = {
    {25, 23, false},      {372766967, 2329671, true}, {38819, 86954, true},  {372728148, 2242717, false},
    {88623, 27588, true}, {326, 447, true},           {88297, 27141, false},
};

bool in_tables(const Cell &cell)
{
    return cell.group == Group::worker || cell.group == Group::loaded;
}

const char *environment_of(const Cell &cell)
{
    return cell.group == Group::loaded ? "loaded" : "quiet";
}

void name_worker(const Cell &cell, Text &worker, Flag &boost)
{
    const bool floor = cell.variant.call == Call::round_trip;
    worker = floor ? "none" : cell.variant.normal ? "normal=1" : name_of(cell.variant.worker);
    if (!floor)
        boost = cell.variant.boost;
}

// Returns the median of the rounds' ratios.  A ratio is computed within a round, since a machine's speed changes over
// time, but hardly within a round.
Figure paired_ratio(const Cell &with, const Cell *without)
{
    std::vector<double> ratios;
    if (without == nullptr)
        return std::nullopt;
    for (std::size_t i = 0; i < std::min(with.sections_per_s.size(), without->sections_per_s.size()); i++)
        if (without->sections_per_s[i] > 0)
            ratios.push_back(with.sections_per_s[i] / without->sections_per_s[i]);
    return median(ratios);
}

ThroughputRow make_throughput_row(const Plan &plan, const Cell &cell)
{
    const double seconds = static_cast<double>(cell.sum.wall_ns) / 1e9;
    ThroughputRow row;
    row.table = "throughput";
    row.readers = cell.variant.readers;
    row.boost = cell.variant.boost;
    row.label = cell.variant.boost ? "boost" : "no boost";
    row.sections_per_s = median(cell.sections_per_s);
    row.spread_pct = spread_pct(cell.sections_per_s);
    row.requests_per_s = static_cast<double>(cell.sum.requests) / seconds;
    row.grace_periods_per_s = static_cast<double>(cell.sum.expedited) / seconds;
    row.boosts_per_s = static_cast<double>(cell.sum.boosts) / seconds;
    if (cell.variant.boost)
        row.ratio = paired_ratio(cell, find_cell(plan, Group::throughput, Call::request, cell.variant.readers, false));
    return row;
}

} // namespace

Summary summary_of(const Cell *cell)
{
    if (cell == nullptr)
        return {};
    Summary summary = summarise(cell->latency_ns);
    summary.table = "worker";
    summary.environment = environment_of(*cell);
    name_worker(*cell, summary.worker, summary.boost);
    summary.expedited = static_cast<double>(cell->sum.expedited);
    summary.by_caller = static_cast<double>(cell->sum.by_caller);
    summary.by_worker = static_cast<double>(cell->sum.expedited - cell->sum.by_caller);
    summary.cut_off = static_cast<double>(cell->cut_off_ns.size());
    summary.cut_off_ns_max = scaled(Samples(cell->cut_off_ns).max());
    summary.boosts = static_cast<double>(cell->sum.boosts);
    summary.rt_refused = static_cast<double>(cell->sum.rt_refused);
    summary.errors = static_cast<double>(cell->sum.errors);
    return summary;
}

std::vector<Summary> worker_rows(const Plan &plan)
{
    std::vector<Summary> rows;
    for (const Cell &cell : plan.cells) {
        if (!in_tables(cell) || cell.experiments == 0)
            continue;
        Summary &row = rows.emplace_back(summary_of(&cell));
        if (row.worker == "kthread" || row.worker == "kthread-only")
            fill_diffs(row, summary_of(find_cell(plan, cell.group, Call::expedited, 0, cell.variant.boost,
                                                 Worker::workqueue)));
    }
    return rows;
}

std::vector<WorkerCurve> worker_curves(const Plan &plan)
{
    constexpr std::size_t curve_points = 300;
    std::vector<WorkerCurve> curves;
    for (const Cell &cell : plan.cells) {
        if (!in_tables(cell) || cell.experiments == 0)
            continue;
        WorkerCurve &curve = curves.emplace_back();
        curve.environment = environment_of(cell);
        name_worker(cell, curve.worker, curve.boost);
        curve.cdf = Samples(cell.all_latencies()).cdf(curve_points);
    }
    return curves;
}

BusyRow make_busy_row(const Cell &cell)
{
    const Samples samples(cell.all_latencies());
    const bool ours = cell.variant.call == Call::expedited;
    BusyRow row;
    row.table = "busy_readers";
    row.peer = ours ? "rtrcu" : cell.variant.call == Call::liburcu ? "liburcu-memb" : "floor";
    row.readers = cell.variant.readers;
    if (row.peer != "floor")
        row.boost = cell.variant.boost && ours;
    row.label = !ours ? std::string(row.peer) : cell.variant.boost ? "rtrcu, boost" : "rtrcu, no boost";
    row.count = static_cast<double>(samples.count());
    row.unfinished = static_cast<double>(cell.cut_off_ns.size());
    row.cut_off_ns_max = scaled(Samples(cell.cut_off_ns).max());
    row.boosts = static_cast<double>(cell.sum.boosts);
    row.p50_ns = scaled(samples.quantile_of_few(0.5));
    row.p99_ns = scaled(samples.quantile(0.99));
    row.max_ns = scaled(samples.max());
    return row;
}

std::vector<BusyRow> busy_rows(const Plan &plan)
{
    std::vector<BusyRow> rows;
    for (const Cell &cell : plan.cells)
        if (cell.group == Group::busy && cell.experiments != 0)
            rows.push_back(make_busy_row(cell));
    return rows;
}

std::vector<ThroughputRow> throughput_rows(const Plan &plan)
{
    std::vector<ThroughputRow> rows;
    for (const Cell &cell : plan.cells)
        if (cell.group == Group::throughput && cell.experiments != 0 && cell.sum.wall_ns != 0)
            rows.push_back(make_throughput_row(plan, cell));
    return rows;
}

std::vector<InterruptRow> interrupt_rows(const Plan &plan)
{
    std::vector<InterruptRow> rows;
    const InterruptCell *control = find_interrupts(plan, Isolation::control);
    for (const InterruptCell &cell : plan.interrupts) {
        if (cell.experiments.empty())
            continue;
        const std::vector<double> rates = cell.interrupts_per_s();
        double seconds = 0, grace_periods = 0, sections = 0;
        for (const InterruptTotals &totals : cell.experiments) {
            seconds += static_cast<double>(totals.wall_ns) / 1e9;
            grace_periods += static_cast<double>(totals.grace_periods);
            sections += static_cast<double>(totals.sections);
        }
        InterruptRow &row = rows.emplace_back();
        row.table = "interrupts";
        row.name = name_of(cell.isolation);
        row.experiments = static_cast<double>(cell.experiments.size());
        row.interrupts_per_s = median(rates);
        row.spread_pct = spread_pct(rates);
        row.grace_periods_per_s = ratio(grace_periods, seconds);
        row.sections_per_s = ratio(sections, seconds);
        if (control != nullptr && &cell != control)
            row.per_grace_period = median(interrupts_per_grace_period(cell, *control));
    }
    return rows;
}

namespace
{

// A column of a table: a variant of this run, and the variant with which it is compared.
struct Shown {
    const char *title;
    Summary summary;
    int before = -1; // the index of an earlier column
};

std::vector<Shown> shown_in(const Plan &plan, Group group)
{
    const auto of = [&](bool boost, Worker worker) {
        return summary_of(find_cell(plan, group, Call::expedited, 0, boost, worker));
    };
    std::vector<Shown> all;
    all.push_back({"boost: workqueue", of(true, Worker::workqueue)});
    all.push_back({"kthread-only", of(true, Worker::kthread_only), 0});
    all.push_back({"kthread", of(true, Worker::kthread), 0});
    all.push_back({"no boost: workqueue", of(false, Worker::workqueue)});
    all.push_back({"kthread-only ", of(false, Worker::kthread_only), 3});
    all.push_back({"kthread ", of(false, Worker::kthread), 3});
    if (const Cell *normal = find_normal_cell(plan, group))
        all.push_back({"normal=1", summary_of(normal)});
    all.push_back({"floor", summary_of(find_cell(plan, group, Call::round_trip, 0, false))});
    return all;
}

std::string diff_text(bool has_diff, const Figure &before, const Figure &after)
{
    const Figure diff = has_diff ? diff_pct(before, after) : std::nullopt;
    return diff ? fmt::format("{:+.2f}%", *diff) : std::string();
}

} // namespace

std::string document_table(const Plan &plan, Group group, int which)
{
    static constexpr const char *heads[] = {"synchronize_rcu_expedited()", "extremes of the experiments",
                                            "which threads advanced the grace periods"};
    static const std::vector<Published> none;
    const std::vector<Published> &published = which == durations ? published_durations
                                              : which == ranges  ? published_ranges
                                                                 : none;
    const std::vector<Shown> all = shown_in(plan, group);
    Table table;
    table.column(heads[which], Table::Align::left);
    if (!published.empty())
        for (const char *column : {"Linux 2022: workqueues", "kthread_worker", "Diff"})
            table.column(column);
    for (const Shown &shown : all) {
        table.column(shown.title);
        if (shown.before >= 0 && !published.empty())
            table.column("Diff");
    }
    std::size_t line = 0;
    for (const Fields::Field &field : all.front().summary.fields()) {
        if (field.column.table != which)
            continue;
        std::vector<std::string> cells = {field.column.heading};
        const bool has_diff = line < published.size() && published[line].has_diff;
        if (!published.empty()) {
            const auto &[before, after, diff] = published[line++];
            cells.insert(cells.end(), {whole(before), whole(after), diff_text(diff, before, after)});
        }
        for (const Shown &shown : all) {
            const Figure &figure = field.in<Figure>(shown.summary);
            cells.push_back(whole(figure));
            if (shown.before >= 0 && !published.empty())
                cells.push_back(
                    diff_text(has_diff, field.in<Figure>(all[static_cast<std::size_t>(shown.before)].summary), figure));
        }
        table.row(cells);
    }
    return table.text();
}

} // namespace lab::expedited

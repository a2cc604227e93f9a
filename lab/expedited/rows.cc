// SPDX-License-Identifier: MIT OR Apache-2.0
// Makes rows of cells, and tables and JSON of rows.
#include "expedited/rows.h"

#include <algorithm>
#include <fmt/format.h>

#include "measure/quantile.h"
#include "report/table.h"

namespace lab::expedited
{
namespace
{

using Align = Table::Align;

// As published in 2022, in the order of the fields; 0 where the table has none.
constexpr double published_workqueue[] = {326, 39428, 98225, 342122, 372766967, 2746353, 19327765};
constexpr double published_kthread[] = {447, 38971, 69743, 126638, 2329671, 151242, 294408};
constexpr double published_ranges_workqueue[] = {372766967, 38819, 372728148, 88623, 326, 88297};
constexpr double published_ranges_kthread[] = {2329671, 86954, 2242717, 27588, 447, 27141};

Figure figure(std::optional<uint64_t> value)
{
    return value ? Figure(static_cast<double>(*value)) : std::nullopt;
}

Figure median(std::vector<double> values)
{
    if (values.empty())
        return std::nullopt;
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

std::string percent(const Figure &value)
{
    return value ? fmt::format("{:+.2f}%", *value) : "";
}

std::string count_text(uint64_t count)
{
    return count < 1000 ? fmt::format("{}", count) : number(static_cast<double>(count));
}

Table empty_table(const char *first)
{
    Table table;
    table.column(first, Align::left);
    for (const char *column : {"2022: workqueues", "kthread_worker", "Diff", "boost: workqueue", "kthread", "Diff ",
                               "no boost: workqueue", "kthread ", "Diff  ", "floor"})
        table.column(column);
    return table;
}

struct Columns {
    Summary boost[2], plain[2], floor; // workqueue, kthread
};

Columns columns_of(const Plan &plan, Group group)
{
    Columns columns;
    for (int i = 0; i < 2; i++) {
        columns.boost[i] = summary_of(find_cell(plan, group, Call::expedited, 0, true, i == 0));
        columns.plain[i] = summary_of(find_cell(plan, group, Call::expedited, 0, false, i == 0));
    }
    columns.floor = summary_of(find_cell(plan, group, Call::round_trip, 0, false));
    return columns;
}

void add_field(Table &table, const SummaryField &field, double before, double after, const Columns &columns)
{
    auto diff = [&](const Figure &a, const Figure &b) { return field.has_diff ? percent(diff_pct(a, b)) : ""; };
    const auto of = field.figure;
    table.row({field.title, number(before), number(after), diff(before, after), number(columns.boost[0].*of),
               number(columns.boost[1].*of), diff(columns.boost[0].*of, columns.boost[1].*of),
               number(columns.plain[0].*of), number(columns.plain[1].*of),
               diff(columns.plain[0].*of, columns.plain[1].*of), number(columns.floor.*of)});
}

void add_counts(Table &table, const char *title, const char *before, const char *after, const Columns &columns,
                uint64_t Summary::*count)
{
    auto text = [&](const Summary &summary) { return count_text(summary.*count); };
    table.row({title, before, after, "", text(columns.boost[0]), text(columns.boost[1]), "", text(columns.plain[0]),
               text(columns.plain[1]), "", text(columns.floor)});
}

std::string us(const Figure &ns)
{
    return number(ns ? Figure(*ns / 1000) : std::nullopt);
}

// One row a worker and boost, with what differs from the workqueue in per cent.
void add_worker_rows(const Plan &plan, Json &rows)
{
    for (const Cell &cell : plan.cells) {
        const bool tables = cell.group == Group::worker || cell.group == Group::loaded;
        if (!tables || cell.experiments == 0)
            continue;
        const bool floor = cell.variant.call == Call::round_trip;
        const Summary own = summary_of(&cell);
        const Summary other = summary_of(find_cell(plan, cell.group, Call::expedited, 0, cell.variant.boost, true));
        Json row = {{"table", "worker"},
                    {"environment", cell.group == Group::loaded ? "loaded" : "quiet"},
                    {"worker", floor                    ? "none"
                               : cell.variant.workqueue ? "workqueue"
                                                        : "kthread"},
                    {"boost", floor ? Json(nullptr) : Json(cell.variant.boost)},
                    {"experiments", own.experiments},
                    {"count", own.count}};
        const bool differs = !floor && !cell.variant.workqueue;
        for (const auto *fields : {&duration_fields(), &range_fields()})
            for (const SummaryField &field : *fields)
                row[field.key] = or_null(own.*field.figure);
        for (const auto *fields : {&duration_fields(), &range_fields()})
            for (const SummaryField &field : *fields)
                row[std::string(field.key) + "_diff_pct"] =
                    or_null(differs ? diff_pct(other.*field.figure, own.*field.figure) : std::nullopt);
        row["expedited"] = cell.sum.expedited;
        row["boosts"] = cell.sum.boosts;
        row["rt_refused"] = cell.sum.rt_refused;
        row["reader_errors"] = cell.sum.errors;
        rows.push_back(row);
    }
}

} // namespace

Summary summary_of(const Cell *cell)
{
    return cell != nullptr ? summarise(cell->latency_ns) : Summary();
}

BusyRow make_busy_row(const Cell &cell)
{
    const Samples samples(cell.all_latencies());
    BusyRow row;
    row.peer = cell.variant.call == Call::liburcu ? "liburcu-memb" : "rtrcu";
    row.readers = cell.variant.readers;
    row.boost = cell.variant.boost && cell.variant.call != Call::liburcu;
    row.count = samples.count();
    row.unfinished = cell.sum.unfinished;
    row.boosts = cell.sum.boosts;
    row.p50_ns = figure(samples.quantile_of_few(0.5));
    row.p99_ns = figure(samples.quantile(0.99));
    row.max_ns = figure(samples.max());
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

// Of each round's pair: machines drift, neighbours drift together.
static Figure paired_ratio(const Cell &with, const Cell *without)
{
    std::vector<double> ratios;
    if (without == nullptr)
        return std::nullopt;
    for (std::size_t i = 0; i < std::min(with.sections_per_s.size(), without->sections_per_s.size()); i++)
        if (without->sections_per_s[i] > 0)
            ratios.push_back(with.sections_per_s[i] / without->sections_per_s[i]);
    return median(ratios);
}

std::vector<ThroughputRow> throughput_rows(const Plan &plan)
{
    std::vector<ThroughputRow> rows;
    for (const Cell &cell : plan.cells) {
        if (cell.group != Group::throughput || cell.experiments == 0 || cell.sum.wall_ns == 0)
            continue;
        const double seconds = static_cast<double>(cell.sum.wall_ns) / 1e9;
        ThroughputRow row;
        row.readers = cell.variant.readers;
        row.boost = cell.variant.boost;
        row.sections_per_s = median(cell.sections_per_s);
        std::vector<double> sorted = cell.sections_per_s;
        std::sort(sorted.begin(), sorted.end());
        const std::size_t quarter = sorted.size() / 4;
        if (sorted.size() > 1 && *row.sections_per_s > 0)
            row.spread_pct = 50 * (sorted[sorted.size() - 1 - quarter] - sorted[quarter]) / *row.sections_per_s;
        row.requests_per_s = static_cast<double>(cell.sum.requests) / seconds;
        row.grace_periods_per_s = static_cast<double>(cell.sum.expedited) / seconds;
        row.boosts_per_s = static_cast<double>(cell.sum.boosts) / seconds;
        if (row.boost)
            row.ratio =
                paired_ratio(cell, find_cell(plan, Group::throughput, Call::request, cell.variant.readers, false));
        rows.push_back(row);
    }
    return rows;
}

std::string duration_table(const Plan &plan, Group group)
{
    Table table = empty_table("synchronize_rcu_expedited()");
    const Columns columns = columns_of(plan, group);
    add_counts(table, "Count", "725", "688", columns, &Summary::count);
    for (std::size_t i = 0; i < duration_fields().size(); i++)
        add_field(table, duration_fields()[i], published_workqueue[i], published_kthread[i], columns);
    return table.text();
}

std::string range_table(const Plan &plan, Group group)
{
    Table table = empty_table("extremes of the experiments");
    const Columns columns = columns_of(plan, group);
    add_counts(table, "Total No. of Experiments", "25", "23", columns, &Summary::experiments);
    for (std::size_t i = 0; i < range_fields().size(); i++)
        add_field(table, range_fields()[i], published_ranges_workqueue[i], published_ranges_kthread[i], columns);
    return table.text();
}

std::string busy_table(const std::vector<BusyRow> &rows)
{
    Table table;
    table.column("busy readers");
    table.column("", Align::left);
    for (const char *title : {"samples", "unfinished", "p50 us", "p99 us", "max us", "lent"})
        table.column(title);
    unsigned previous = 0;
    for (const BusyRow &row : rows) {
        if (row.readers != previous)
            table.rule();
        previous = row.readers;
        const bool ours = row.peer == "rtrcu";
        table.row({count_text(row.readers), ours ? (row.boost ? "rtrcu, boost" : "rtrcu, no boost") : row.peer,
                   count_text(row.count), count_text(row.unfinished), us(row.p50_ns), us(row.p99_ns), us(row.max_ns),
                   ours ? count_text(row.boosts) : ""});
    }
    return table.text();
}

std::string throughput_table(const std::vector<ThroughputRow> &rows)
{
    Table table;
    table.column("busy readers");
    table.column("", Align::left);
    for (const char *title : {"sections/s", "+-%", "requests/s", "gps/s", "lent/s", "with/without"})
        table.column(title);
    for (const ThroughputRow &row : rows)
        table.row({count_text(row.readers), row.boost ? "boost" : "no boost", number(row.sections_per_s),
                   number(row.spread_pct), number(row.requests_per_s), number(row.grace_periods_per_s),
                   number(row.boosts_per_s), row.ratio ? fmt::format("{:.1f}%", *row.ratio * 100) : ""});
    return table.text();
}

Json all_rows(const Plan &plan)
{
    Json rows = Json::array();
    add_worker_rows(plan, rows);
    for (const BusyRow &row : busy_rows(plan))
        rows.push_back({{"table", "busy_readers"},
                        {"peer", row.peer},
                        {"readers", row.readers},
                        {"boost", row.boost},
                        {"count", row.count},
                        {"unfinished", row.unfinished},
                        {"p50_ns", or_null(row.p50_ns)},
                        {"p99_ns", or_null(row.p99_ns)},
                        {"max_ns", or_null(row.max_ns)},
                        {"boosts", row.boosts}});
    for (const ThroughputRow &row : throughput_rows(plan))
        rows.push_back({{"table", "throughput"},
                        {"readers", row.readers},
                        {"boost", row.boost},
                        {"sections_per_s", or_null(row.sections_per_s)},
                        {"spread_pct", or_null(row.spread_pct)},
                        {"requests_per_s", or_null(row.requests_per_s)},
                        {"grace_periods_per_s", or_null(row.grace_periods_per_s)},
                        {"boosts_per_s", or_null(row.boosts_per_s)},
                        {"ratio", or_null(row.ratio)}});
    return rows;
}

} // namespace lab::expedited

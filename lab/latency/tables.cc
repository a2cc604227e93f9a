// SPDX-License-Identifier: MIT OR Apache-2.0
// The latency experiment's tables for the terminal.
#include <fmt/format.h>

#include "latency/rows.h"

namespace lab
{

static void rule_between(Table &table, std::string &previous, const std::string &workload)
{
    if (!previous.empty() && previous != workload)
        table.rule();
    previous = workload;
}

std::string latency_table(const std::vector<Row> &rows)
{
    Table table;
    table.column("workload, policy", Table::Align::left);
    for (const char *title : {"samples", "p50", "p99", "p99.9", "p99.99", "max", "floor p99", "p99.9", "control p99"})
        table.column(title);
    table.column("util");
    table.column("kops/s");
    std::string previous;
    for (const Row &row : rows) {
        if (row.probe != "loop")
            continue;
        rule_between(table, previous, row.workload);
        const Row *control = nullptr;
        for (const Row &other : rows)
            if (other.probe == "thread" && other.label() == row.label())
                control = &other;
        Figure kilo_ops = row.ops_per_s ? Figure(*row.ops_per_s / 1e3) : std::nullopt;
        table.row({row.label(), whole(static_cast<double>(row.samples)), number(row.p50_us), number(row.p99_us),
                   number(row.p999_us), number(row.p9999_us), number(row.max_us), number(row.floor_p99_us),
                   number(row.floor_p999_us), number(control == nullptr ? Figure() : control->p99_us),
                   row.utilisation ? fmt::format("{:.0f} %", *row.utilisation * 100) : "-", number(kilo_ops)});
    }
    return table.text();
}

std::string callback_table(const std::vector<Row> &rows)
{
    Table table;
    table.column("workload, policy", Table::Align::left);
    for (const char *title :
         {"callbacks", "gp p50", "gp max", "ns", "over p99.9", "max", "cpu p99.9", "max", "late", "backlog"})
        table.column(title);
    std::string previous;
    for (const Row &row : rows) {
        if (row.probe != "loop" || row.policy == "none")
            continue;
        rule_between(table, previous, row.workload);
        table.row({row.label(), whole(row.callbacks), whole(row.callbacks_per_gp_p50), whole(row.callbacks_per_gp_max),
                   number(row.callback_ns), number(row.overrun_us_p999), number(row.overrun_us_max),
                   number(row.overrun_cpu_us_p999), number(row.overrun_cpu_us_max), whole(row.overrun_callbacks_max),
                   whole(row.backlog_max)});
    }
    return table.text();
}

} // namespace lab

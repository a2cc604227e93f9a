// SPDX-License-Identifier: MIT OR Apache-2.0
// The rows as tables for the terminal.
#include <fmt/format.h>

#include "blocked/rows.h"
#include "measure/quantile.h"
#include "report/table.h"

namespace lab::blocked
{
namespace
{

using Align = Table::Align;

Table table_of(std::initializer_list<const char *> titles)
{
    Table table;
    table.column("lists", Align::left);
    for (const char *title : titles)
        table.column(title);
    return table;
}

std::string signed_pct(const Figure &value)
{
    return value ? fmt::format("{:+.0f}%", *value) : "-";
}

std::string small(const Figure &value)
{
    return value ? fmt::format("{:.5f}", *value) : "-";
}

std::string count_text(uint64_t value)
{
    return whole(static_cast<double>(value));
}

} // namespace

// The document's figures first: it gives no standard deviation.
std::string lists_table(const Plan &plan)
{
    const std::vector<ListsRow> rows = lists_rows(plan);
    const ListsRow *spin = find_row(rows, Lists::node_spin);
    Table table = table_of({"runs", "iterations/s", "+-", "over node-spin", "preempted %", "gps", "gp p50 us",
                            "gp p99 us", "floor p50 us", "floor p99 us"});
    table.row({"2026: node", "100", "66,980", "", "", "", "", "", "", "", ""});
    table.row({"2026: per CPU", "100", "97,719", "", "+46%", "", "", "", "", "", ""});
    table.rule();
    for (const ListsRow &row : rows) {
        const bool compared = spin != nullptr && row.lists != Lists::node_spin && row.lists != Lists::none;
        table.row({row.lists == Lists::none ? "no sections" : name_of(row.lists), count_text(row.runs),
                   number(row.iterations_per_s_mean), number(row.iterations_per_s_stddev),
                   compared ? signed_pct(gain_pct(spin->iterations_per_s_mean, row.iterations_per_s_mean)) : "",
                   number(row.preempted_pct), count_text(row.grace_periods), number(row.gp_latency_us_p50),
                   number(row.gp_latency_us_p99), number(row.floor_us_p50), number(row.floor_us_p99)});
    }
    return table.text();
}

std::string lock_table(const Plan &plan)
{
    Table table = table_of({"locks/iteration", "with gps", "readers' %", "with gps ", "hold us", "max", "of readers",
                            "max ", "wait us", "max  ", "unpreempted", "promoted"});
    table.row({"2026: node", "", "", "", "", "1,069", "", "", "", "", "", "about 4", ""});
    table.row({"2026: per CPU", "", "", "", "", "about 0", "", "", "", "", "", "", ""});
    table.rule();
    for (const ListsRow &row : lists_rows(plan)) {
        if (row.lists == Lists::none)
            continue;
        table.row({name_of(row.lists), small(row.lock_acquisitions_per_iteration),
                   small(row.lock_acquisitions_per_iteration_with_gp), number(row.reader_lock_pct_without_gp),
                   number(row.reader_lock_pct), number(row.lock_hold_us_mean), number(row.lock_hold_us_max),
                   number(row.reader_hold_us_mean), number(row.reader_hold_us_max), number(row.reader_wait_us_mean),
                   number(row.reader_wait_us_max), number(row.unpreempted_hold_us_mean), count_text(row.promotions)});
    }
    return table.text();
}

std::string order_table(const Plan &plan)
{
    Table table = table_of({"rounds", "older", "later", "ended early", "not ended", "older not waited for",
                            "later waited for", "found after us p50"});
    for (const OrderCell &cell : plan.orders) {
        if (cell.result.rounds == 0)
            continue;
        const auto found = Samples(cell.result.found_ns).quantile_of_few(0.5);
        table.row({name_of(cell.request.lists), count_text(cell.result.rounds), count_text(cell.request.older),
                   count_text(cell.request.later), count_text(cell.result.ended_early),
                   count_text(cell.result.not_ended), count_text(cell.result.older_not_waited),
                   count_text(cell.result.later_waited_for),
                   number(found ? Figure(static_cast<double>(*found) / 1e3) : std::nullopt)});
    }
    return table.text();
}

std::string crowd_table(const Plan &plan)
{
    Table table = table_of({"parked", "bytes each", "park ns", "unlock ns", "promotion ns each", "begin us", "end us",
                            "gp with none us", "lock hold max us"});
    for (const CrowdCell &cell : plan.crowds) {
        const CrowdResult &result = cell.result;
        if (result.bytes_each == 0)
            continue;
        const bool promotes = result.promotions != 0;
        table.row({name_of(cell.request.lists), count_text(cell.request.tasks), number(result.bytes_each),
                   number(result.park_ns), number(result.unlock_ns),
                   promotes ? number(result.promotion_ns / static_cast<double>(result.promotions)) : "-",
                   number(result.begin_ns / 1e3), number(result.end_ns / 1e3), number(result.gp_without_ns / 1e3),
                   number(result.lock_hold_ns_max / 1e3)});
    }
    return table.text();
}

} // namespace lab::blocked

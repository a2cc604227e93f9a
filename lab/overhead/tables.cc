// SPDX-License-Identifier: MIT OR Apache-2.0
// Lays out the published tables and ours.
#include "overhead/tables.h"

#include <algorithm>
#include <fmt/format.h>

namespace lab::overhead
{
namespace
{

using Align = Table::Align;

// A row as published.  Of rows with fewer figures than columns the text gives no columns: ltimer's add up to the 425
// ticks that its conclusions count; "?" marks a figure whose column is our reading.
struct Published {
    const char *function, *base, *ltimer, *sched, *poll;
};

const std::vector<Published> published_rare = {
    {"ip_route_output_key", "4486", "2026", "2162", "2135"},
    {"call_rcu", "", "11", "68", "71"},
    {"rcu_process_callbacks", "", "4", "128?", ""},
    {"rcu_invoke_callbacks", "", "4", "24?", ""},
    {"rcu_batch_done", "", "1", "", ""},
    {"schedule", "423", "453", "459", "500"},
    {"rcu_prepare_polling", "", "", "", "13"},
    {"rcu_polling", "", "", "", "134"},
};

const std::vector<Published> published_frequent = {
    {"ip_route_output_key", "2358", "1646", "1619", "1641"},
    {"call_rcu", "", "262", "1147", "2251"},
    {"rcu_process_callbacks", "", "49", "2778?", ""},
    {"rcu_invoke_callbacks", "", "57", "488?", ""},
    {"rcu_check_quiescent_state", "", "27", "", ""},
    {"rcu_check_callbacks", "", "24", "", ""},
    {"rcu_reg_batch", "", "3", "", ""},
    {"rcu_batch_done", "", "3", "", ""},
    {"schedule", "", "294?", "849?", "808?"},
    {"rcu_prepare_polling", "", "", "", "21"},
    {"rcu_polling", "", "", "", "2756"},
    {"rcu_completion", "", "", "", "4"},
    {"force_cpu_reschedule", "", "", "", "553"},
    {"__tasklet_hi_schedule", "", "", "", "1557"},
};

constexpr std::size_t functions_shown = 24;
constexpr double ticks_worth_showing = 20; // a million packets

std::string ticks_text(double ticks)
{
    return ticks < 0.5 ? "" : fmt::format("{:.0f}", ticks);
}

using Key = std::pair<std::string, Work>;

// Functions that matter anywhere, kinds of work together, the largest first.
std::vector<Key> functions_to_show(const std::vector<Total> &totals, const std::string &environment)
{
    std::map<Key, double> largest;
    for (const Total &total : totals)
        if (total.environment->name == environment)
            for (const auto &[function, ticks] : total.ticks)
                largest[function] = std::max(largest[function], total.ticks_a_million_packets(function));
    std::vector<std::pair<double, Key>> order;
    for (const auto &[function, ticks] : largest)
        if (ticks >= ticks_worth_showing)
            order.emplace_back(ticks, function);
    std::sort(order.begin(), order.end(), [](const auto &a, const auto &b) { return a.first > b.first; });
    order.resize(std::min(order.size(), functions_shown));
    std::stable_sort(order.begin(), order.end(),
                     [](const auto &a, const auto &b) { return a.second.second < b.second.second; });
    std::vector<Key> functions;
    for (const auto &[ticks, function] : order)
        functions.push_back(function);
    return functions;
}

} // namespace

std::string document_table(const std::string &environment)
{
    Table table;
    table.column("function", Align::left);
    for (const char *engine : {"base", "rcu_ltimer", "rcu_sched", "rcu_poll"})
        table.column(engine);
    for (const Published &row : environment == "rare" ? published_rare : published_frequent)
        table.row({row.function, row.base, row.ltimer, row.sched, row.poll});
    return table.text();
}

std::string function_table(const std::vector<Total> &totals, const std::string &environment)
{
    Table table;
    table.column("function", Align::left);
    table.column("work", Align::left);
    std::vector<const Total *> columns;
    for (const Total &total : totals) {
        if (total.environment->name != environment || total.packets == 0)
            continue;
        columns.push_back(&total);
        table.column(total.engine->label());
    }
    for (const Key &function : functions_to_show(totals, environment)) {
        table.group(work_name(function.second));
        std::vector<std::string> cells = {function.first, work_name(function.second)};
        for (const Total *total : columns)
            cells.push_back(ticks_text(total->ticks_a_million_packets(function)));
        table.row(cells);
    }
    return table.text();
}

std::string rows_table(const std::vector<Row> &rows, const std::string &environment, int which)
{
    Table table;
    add_columns(table, which, Row());
    for (const Row &row : rows)
        if (row.environment == environment && (which == cost || row.backlog_max))
            table.row(cells_of(which, row));
    return table.text();
}

} // namespace lab::overhead

// SPDX-License-Identifier: MIT OR Apache-2.0
// Lays out the published tables and ours.
#include "overhead/document.h"

#include <algorithm>
#include <fmt/format.h>

#include "report/table.h"

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

const Published published_rare[] = {
    {"ip_route_output_key", "4486", "2026", "2162", "2135"},
    {"call_rcu", "", "11", "68", "71"},
    {"rcu_process_callbacks", "", "4", "128?", ""},
    {"rcu_invoke_callbacks", "", "4", "24?", ""},
    {"rcu_batch_done", "", "1", "", ""},
    {"schedule", "423", "453", "459", "500"},
    {"rcu_prepare_polling", "", "", "", "13"},
    {"rcu_polling", "", "", "", "134"},
};

const Published published_frequent[] = {
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

std::string count_text(const Figure &count)
{
    return count && *count < 1000 ? fmt::format("{:.0f}", *count) : number(count);
}

using Key = std::pair<std::string, Work>;

double ticks_a_million(const Total &total, const Key &function)
{
    auto found = total.ticks.find(function);
    if (found == total.ticks.end() || total.packets == 0)
        return 0;
    return static_cast<double>(found->second) * 1e6 / static_cast<double>(total.packets);
}

// Functions that matter anywhere, kinds of work together, the largest first.
std::vector<Key> functions_to_show(const std::vector<Total> &totals, const std::string &environment)
{
    std::map<Key, double> largest;
    for (const Total &total : totals)
        if (total.environment->name == environment)
            for (const auto &[function, ticks] : total.ticks)
                largest[function] = std::max(largest[function], ticks_a_million(total, function));
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
    auto add = [&](const Published &row) { table.row({row.function, row.base, row.ltimer, row.sched, row.poll}); };
    if (environment == "rare")
        std::for_each(std::begin(published_rare), std::end(published_rare), add);
    else
        std::for_each(std::begin(published_frequent), std::end(published_frequent), add);
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
    Work previous = Work::other;
    for (const Key &function : functions_to_show(totals, environment)) {
        if (function.second != previous)
            table.rule();
        previous = function.second;
        std::vector<std::string> cells = {function.first, work_name(function.second)};
        for (const Total *total : columns)
            cells.push_back(ticks_text(ticks_a_million(*total, function)));
        table.row(cells);
    }
    return table.text();
}

std::string cost_table(const std::vector<Row> &rows, const std::string &environment)
{
    Table table;
    table.column("engine", Align::left);
    for (const char *title : {"packets/s", "cpu ns", "+-%", "lookup", "update", "rcu", "traffic", "other", "gain %",
                              "over chain locks %", "as 2002 counts %"})
        table.column(title);
    for (const Row &row : rows)
        if (row.environment == environment)
            table.row({row.label(), number(row.packets_per_s), number(row.cpu_ns_per_packet),
                       number(row.cpu_spread_pct), number(row.lookup_ns), number(row.update_ns), number(row.rcu_ns),
                       number(row.traffic_ns), number(row.other_ns), number(row.net_gain_pct),
                       number(row.net_gain_chain_locks_pct), number(row.document_gain_pct)});
    return table.text();
}

std::string callback_table(const std::vector<Row> &rows, const std::string &environment)
{
    Table table;
    table.column("engine", Align::left);
    for (const char *title : {"gp latency us p50", "p99", "callbacks/s", "gps/s", "backlog max", "over qmax",
                              "call_rcu ns", "rcu threads ns/packet"})
        table.column(title);
    for (const Row &row : rows)
        if (row.environment == environment && row.backlog_max)
            table.row({row.label(), number(row.gp_latency_us_p50), number(row.gp_latency_us_p99),
                       number(row.callbacks_per_s), number(row.grace_periods_per_s), count_text(row.backlog_max),
                       count_text(row.over_qmax), number(row.call_rcu_ns), number(row.rcu_threads_ns)});
    return table.text();
}

Json to_json(const Row &row)
{
    return {{"engine", row.engine},
            {"variant", row.variant},
            {"environment", row.environment},
            {"packets_per_s", or_null(row.packets_per_s)},
            {"cpu_ns_per_packet", or_null(row.cpu_ns_per_packet)},
            {"cpu_spread_pct", or_null(row.cpu_spread_pct)},
            {"lookup_ns", or_null(row.lookup_ns)},
            {"update_ns", or_null(row.update_ns)},
            {"rcu_ns", or_null(row.rcu_ns)},
            {"traffic_ns", or_null(row.traffic_ns)},
            {"other_ns", or_null(row.other_ns)},
            {"rcu_threads_ns", or_null(row.rcu_threads_ns)},
            {"call_rcu_ns", or_null(row.call_rcu_ns)},
            {"net_gain_pct", or_null(row.net_gain_pct)},
            {"net_gain_chain_locks_pct", or_null(row.net_gain_chain_locks_pct)},
            {"document_gain_pct", or_null(row.document_gain_pct)},
            {"gp_latency_us_p50", or_null(row.gp_latency_us_p50)},
            {"gp_latency_us_p99", or_null(row.gp_latency_us_p99)},
            {"backlog_max", or_null(row.backlog_max)},
            {"callbacks_per_s", or_null(row.callbacks_per_s)},
            {"grace_periods_per_s", or_null(row.grace_periods_per_s)},
            {"misses_per_packet", or_null(row.misses_per_packet)},
            {"over_qmax", or_null(row.over_qmax)},
            {"samples", or_null(row.samples)},
            {"samples_lost", or_null(row.samples_lost)},
            {"rounds", or_null(row.rounds)}};
}

void add_function_rows(const Total &total, Json &rows)
{
    for (const auto &[function, ticks] : total.ticks)
        rows.push_back({{"engine", total.engine->name},
                        {"variant", total.engine->variant},
                        {"environment", total.environment->name},
                        {"function", function.first},
                        {"work", work_name(function.second)},
                        {"ticks", ticks},
                        {"ticks_per_million_packets", ticks_a_million(total, function)}});
}

} // namespace lab::overhead

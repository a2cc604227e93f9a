// SPDX-License-Identifier: MIT OR Apache-2.0
// Formats the published tables and ours.
#include "overhead/tables.h"

#include <algorithm>
#include <fmt/format.h>

namespace lab::overhead
{
namespace
{

using Align = Table::Align;

constexpr std::size_t functions_shown = 24;

// Formats ticks; empty if there is no figure, as in the published tables.  A small number is not rounded to 0.
std::string ticks_text(const Figure &ticks)
{
    return ticks.value_or(0) == 0 ? "" : number(ticks);
}

using Key = std::pair<std::string, Work>;

// Returns true for call_rcu() and `schedule`, which the table shows even with few ticks.
bool always_shown(const Key &function)
{
    const Step step = step_of(function.first, function.second);
    return step == Step::queue || step == Step::schedule;
}

struct Shown {
    std::vector<Key> functions, others;
};

// Returns the functions to show, grouped by kind of work, the largest first.
Shown choose_functions(const std::vector<Total> &totals, const std::string &environment)
{
    std::map<Key, double> largest;
    for (const Total &total : totals)
        if (total.environment->name == environment)
            for (const auto &[function, ticks] : total.ticks)
                largest[function] = std::max(largest[function], total.ticks_a_million_packets(function));
    std::vector<std::pair<double, Key>> order;
    for (const auto &[function, ticks] : largest)
        order.emplace_back(ticks, function);
    std::sort(order.begin(), order.end(), [](const auto &a, const auto &b) { return a.first > b.first; });
    Shown shown;
    for (std::size_t i = 0; i < order.size(); i++)
        (i < functions_shown || always_shown(order[i].second) ? shown.functions : shown.others)
            .push_back(order[i].second);
    std::stable_sort(shown.functions.begin(), shown.functions.end(),
                     [](const Key &a, const Key &b) { return a.second < b.second; });
    return shown;
}

std::vector<const Total *> columns_of(const std::vector<Total> &totals, const std::string &environment)
{
    std::vector<const Total *> columns;
    for (const Total &total : totals)
        if (total.environment->name == environment && total.packets != 0)
            columns.push_back(&total);
    return columns;
}

const CounterpartRow *find_counterpart(const std::vector<CounterpartRow> &rows, const std::string &function,
                                       const std::string &label)
{
    for (const CounterpartRow &row : rows)
        if (row.published == function && row.label == label)
            return &row;
    return nullptr;
}

// Returns the function's name in 2002, and its name in the polling engine if that differs.
std::string names_in_2002(const Key &function)
{
    const Step step = step_of(function.first, function.second);
    const char *name = published_function(step, false), *in_poll = published_function(step, true);
    if (name == nullptr)
        return "";
    return std::string(name) == in_poll ? name : fmt::format("{} / {}", name, in_poll);
}

// Returns ticks in the published unit; in a run without base, ticks for a million packets.
Figure our_ticks(const CounterpartRow *row)
{
    if (row == nullptr)
        return std::nullopt;
    return row->ticks_as_published ? row->ticks_as_published : row->ticks_per_million_packets;
}

} // namespace

std::string side_by_side_table(const std::vector<Total> &totals, const std::string &environment)
{
    const std::vector<CounterpartRow> ours = counterpart_rows(totals, environment);
    const std::vector<PublishedRow> published = published_rows(environment);
    Table table;
    table.column("function", Align::left);
    for (const PublishedEngine &engine : published_engines())
        table.column(engine.name);
    for (const PublishedEngine &engine : published_engines())
        table.column(fmt::format("ours: {}", engine.label));
    std::vector<double> sums(published_engines().size(), 0);
    for (const Counterpart &counterpart : counterparts()) {
        std::vector<std::string> cells = {counterpart.function};
        const auto found = std::find_if(published.begin(), published.end(),
                                        [&](const PublishedRow &row) { return row.function == counterpart.function; });
        for (const PublishedEngine &engine : published_engines())
            cells.push_back(found != published.end() ? ticks_text((*found).*engine.ticks) : "");
        for (std::size_t i = 0; i < sums.size(); i++) {
            const Figure ticks = our_ticks(find_counterpart(ours, counterpart.function, published_engines()[i].label));
            cells.push_back(ticks_text(ticks));
            sums[i] += std::string("schedule") == counterpart.function ? 0 : ticks.value_or(0);
        }
        table.row(cells);
    }
    table.rule();
    std::vector<std::string> cells = {"sum without schedule"};
    for (const PublishedEngine &engine : published_engines())
        cells.push_back(number(published_sum(environment, engine)));
    for (const double sum : sums)
        cells.push_back(ticks_text(sum));
    table.row(cells);
    return table.text();
}

std::string mapping_text()
{
    std::string text;
    for (const Counterpart &counterpart : counterparts())
        text += fmt::format("  {:<26} {}\n", counterpart.function, counterpart.ours);
    return text;
}

std::string function_table(const std::vector<Total> &totals, const std::string &environment)
{
    Table table;
    for (const char *title : {"function", "work", "in 2002"})
        table.column(title, Align::left);
    const std::vector<const Total *> columns = columns_of(totals, environment);
    for (const Total *total : columns)
        table.column(total->engine->label());
    const Shown shown = choose_functions(totals, environment);
    for (const Key &function : shown.functions) {
        table.group(work_name(function.second));
        std::vector<std::string> cells = {function.first, work_name(function.second), names_in_2002(function)};
        for (const Total *total : columns)
            cells.push_back(ticks_text(total->ticks_a_million_packets(function)));
        table.row(cells);
    }
    if (shown.others.empty())
        return table.text();
    table.rule();
    std::vector<std::string> cells = {fmt::format("{} others", shown.others.size()), "", ""};
    for (const Total *total : columns) {
        double sum = 0;
        for (const Key &function : shown.others)
            sum += total->ticks_a_million_packets(function);
        cells.push_back(ticks_text(sum));
    }
    table.row(cells);
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

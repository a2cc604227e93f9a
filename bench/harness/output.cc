// SPDX-License-Identifier: MIT OR Apache-2.0
// Prints the results of the rounds.
#include "harness/output.h"

#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "report/table.h"

namespace bench
{

// A count is printed in full, a time with three digits.
static std::string figure_text(double value)
{
    return std::abs(value) < 0.005 ? "0" : lab::number(value);
}

static std::string bar_text(const Figure &figure)
{
    if (!figure.bar.judged())
        return "-";
    switch (figure.bar.kind) {
    case BarKind::none:
        return "-";
    case BarKind::ratio_to_peer:
    case BarKind::ratio_to_reference:
        return fmt::format("≤ {:.2g}x", figure.bar.limit);
    case BarKind::at_most:
        return fmt::format("≤ {} {}", lab::number(figure.bar.limit), figure.unit);
    case BarKind::above_reference:
        return fmt::format("≤ +{} {}", lab::number(figure.bar.limit), figure.unit);
    }
    return "";
}

static std::string ratio_text(const Spread &ratio, double value)
{
    return ratio.high == 0 && ratio.low == 0 ? "-" : fmt::format("{:.2f}x", value);
}

static std::string peer_name(const Figure &figure)
{
    return figure.bar.is_to_itself() ? "without" : figure.sides[1].peer->name;
}

static void add_rows(lab::Table &table, const Judged &judged)
{
    const Figure &figure = *judged.result->figure;
    if (judged.rounds == 0) {
        table.row({figure.name, figure.unit, "-", "-", judged.result->error});
        return;
    }
    const Spread &ratio = judged.ratio;
    std::string spread = ratio_text(ratio, 0) == "-" ? "-" : fmt::format("{:.2f} to {:.2f}", ratio.low, ratio.high);
    std::string rounds =
        !figure.bar.judged() ? fmt::format("{}", judged.rounds) : fmt::format("{}/{}", judged.within, judged.rounds);
    table.row({figure.name, figure.unit, figure_text(judged.ours.median), figure_text(judged.peer.median),
               peer_name(figure), ratio_text(ratio, ratio.median), spread, bar_text(figure), rounds,
               verdict_name(judged.verdict)});
    const bool itself = figure.bar.is_to_itself();
    for (const Beside &one : judged.beside)
        table.row({itself ? "  with" : "  beside", figure.unit, "", figure_text(one.value.median), one.name,
                   ratio_text(one.ratio, one.ratio.median)});
}

std::string table_text(const std::vector<Judged> &figures)
{
    lab::Table table;
    for (const char *title : {"figure", "unit"})
        table.column(title, lab::Table::Align::left);
    for (const char *title : {"ours", "theirs"})
        table.column(title);
    table.column("peer", lab::Table::Align::left);
    for (const char *title : {"ratio", "10 to 90 %", "bar", "rounds"})
        table.column(title);
    table.column("verdict", lab::Table::Align::left);
    for (const Judged &judged : figures)
        add_rows(table, judged);
    return table.text();
}

static void put_spread(lab::Json &row, const std::string &name, const Spread &spread)
{
    row[name + "_p10"] = spread.low;
    row[name + "_p50"] = spread.median;
    row[name + "_p90"] = spread.high;
}

void add_rows(const std::vector<Judged> &figures, lab::Document &document)
{
    lab::Json &rows = document.json()["rows"];
    for (const Judged &judged : figures) {
        const Figure &figure = *judged.result->figure;
        lab::Json row = {{"figure", figure.name}, {"what", figure.what}, {"unit", figure.unit}};
        row["peer"] = peer_name(figure);
        row["rounds"] = judged.rounds;
        put_spread(row, "ours", judged.ours);
        put_spread(row, "peer", judged.peer);
        put_spread(row, "ratio", judged.ratio);
        for (const Beside &one : judged.beside) {
            put_spread(row, one.name, one.value);
            put_spread(row, std::string(one.name) + "_ratio", one.ratio);
        }
        row["bar"] = bar_text(figure);
        row["rounds_within"] = judged.within;
        row["verdict"] = verdict_name(judged.verdict);
        if (!judged.result->error.empty())
            row["error"] = judged.result->error;
        rows.push_back(std::move(row));
    }
}

std::string conditions_text(const lab::Machine &machine, uint64_t seed, unsigned rounds)
{
    std::map<std::string, std::string> versions; // names each library once, for all of its flavours
    for (const Peer *peer : all_peers()) {
        std::string name = peer->name;
        if (peer != &none_peer)
            versions[name.substr(0, name.find('-'))] = peer->version();
    }
    std::string text = fmt::format("machine   {}, {} CPUs, Linux {}, hypervisor: {}\n", machine.cpu_model,
                                   machine.cpus_allowed.size(), machine.kernel, machine.hypervisor);
    text += "versions ";
    for (const auto &[name, version] : versions)
        text += fmt::format(" {} {}", name, version);
    text +=
        fmt::format("\nrun       seed {}, {} rounds, interleaved; figures are medians over the rounds\n", seed, rounds);
    return text;
}

} // namespace bench

// SPDX-License-Identifier: MIT OR Apache-2.0
// Gathers the data of the page.
#include "latency/page.h"

#include <algorithm>

#include "report/page.h"

namespace lab
{
namespace
{

constexpr std::size_t curve_points = 400;
constexpr std::size_t backlog_points = 2000;

Json curve_of(const VariantProcess &process)
{
    const VariantRecord &record = process.record();
    Json cdf = Json::array(), backlog = Json::array();
    for (const auto &[ns, share] : loop_lateness(record).cdf(curve_points))
        cdf.push_back({static_cast<double>(ns) / 1000, share});
    // The largest of each stretch: a spike is the point of the plot.
    const std::size_t count = record.backlog.count(), stretch = count / backlog_points + 1;
    for (std::size_t i = 0; i < count; i += stretch) {
        BacklogSample peak = record.backlog[i];
        for (std::size_t j = i; j < std::min(i + stretch, count); j++)
            if (record.backlog[j].backlog > peak.backlog)
                peak = record.backlog[j];
        backlog.push_back({peak.at_ms, peak.backlog});
    }
    Json invocations = Json::array();
    for (std::size_t i = 0; i < record.invocations.count(); i++) {
        const InvocationSample sample = record.invocations[i];
        invocations.push_back({sample.backlog_max, sample.p99_us});
    }
    const Variant &variant = process.variant();
    return {{"label", variant.label()}, {"workload", variant.workload}, {"policy", variant.policy->name},
            {"burst", variant.burst},   {"fifo", variant.fifo},         {"cdf", cdf},
            {"backlog", backlog},       {"invocations", invocations}};
}

} // namespace

std::string write_page(const PageInput &input)
{
    Json data = input.document;
    data["curves"] = Json::array();
    for (const auto &process : input.processes)
        if (process->record().sum().rounds != 0)
            data["curves"].push_back(curve_of(*process));
    data["verdicts"] = to_json(input.verdicts);
    return write_plot_page("latency", input.directory, data);
}

} // namespace lab

// SPDX-License-Identifier: MIT OR Apache-2.0
// Writes the data of the page and runs the script that plots it.
#include "latency/page.h"

#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>

extern char **environ;

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
    const Variant &variant = process.variant();
    return {{"label", variant.label()}, {"workload", variant.workload}, {"policy", variant.policy->name},
            {"burst", variant.burst},   {"fifo", variant.fifo},         {"cdf", cdf},
            {"backlog", backlog}};
}

// What the script says when there is nothing to plot with.
constexpr int no_plots = 3;

// The script's exit code, or -1 where the interpreter did not run or did not end by itself.
int run_script(const char *python, const std::string &script, const std::string &data, const std::string &page)
{
    std::string words[] = {python, script, data, page};
    char *arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
    pid_t child = -1;
    int status = 0;
    if (posix_spawnp(&child, python, nullptr, nullptr, arguments, environ) != 0 ||
        waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

std::string find_script()
{
    for (const char *candidate : {LAB_PLOT_SCRIPT, LAB_PLOT_SCRIPT_INSTALLED})
        if (access(candidate, R_OK) == 0)
            return candidate;
    return {};
}

} // namespace

std::string write_page(const PageInput &input)
{
    std::error_code failure;
    std::filesystem::create_directories(input.directory, failure);
    if (failure)
        return fmt::format("no page: {}: {}; name another directory with --out", input.directory, failure.message());
    Json data = input.document;
    data["curves"] = Json::array();
    for (const auto &process : input.processes)
        if (process->record().sum().rounds != 0)
            data["curves"].push_back(curve_of(*process));
    data["verdicts"] = Json::array();
    for (const Verdict &verdict : input.verdicts)
        data["verdicts"].push_back(
            {{"outcome", outcome_name(verdict.outcome)}, {"claim", verdict.claim}, {"figures", verdict.figures}});
    std::string file = input.directory + "/latency.json", page = input.directory + "/latency.html", error;
    if (!write_json(file, data, error))
        return "no page: " + error;
    std::string script = find_script();
    if (script.empty())
        return fmt::format("no page: the plotting script was not found; the data is in {}", file);
    // The distribution's interpreter is the one that its matplotlib belongs to; another may come first in the path.
    int code = run_script("/usr/bin/python3", script, file, page);
    if (code != 0)
        code = run_script("python3", script, file, page);
    if (code == no_plots)
        return fmt::format("page: {}, without plots: install python3-matplotlib", page);
    if (code != 0)
        return fmt::format("no page: python3 did not run the plotting script; the data is in {}", file);
    return fmt::format("page with plots: {}", page);
}

} // namespace lab

// SPDX-License-Identifier: MIT OR Apache-2.0
// `rtrcu top`: the processes of this machine that run the library, and its state in them.
#include <CLI/CLI.hpp>

#include <chrono>
#include <memory>
#include <thread>

#include "command/command.h"
#include "command/experiment.h"
#include "machine/machine.h"
#include "report/document.h"
#include "top/report.h"
#include "top/screen.h"

namespace lab
{
namespace
{

struct TopOptions {
    std::vector<int> pids;
    bool once = false, prometheus = false;
    std::string json;
    double interval = 1;
    std::string sort = "PID";
};

// Prints the problems of the named processes on standard error.  Returns true if there is a problem.
bool complain_of(const std::vector<top::View> &views)
{
    bool any = false;
    for (const top::View &view : views)
        if (!view.problem.empty()) {
            complain(exit_usage, view.problem);
            any = true;
        }
    return any;
}

std::vector<top::View> look_twice(inspect::Processes &processes, double interval)
{
    std::vector<top::View> first = top::views(processes.look(), {});
    std::this_thread::sleep_for(std::chrono::duration<double>(interval));
    return top::views(processes.look(), first);
}

int write_json(const TopOptions &options, const std::vector<top::View> &views)
{
    Document document("top", read_machine());
    std::string error;
    document.argument("interval", options.interval);
    top::fill_document(document, views);
    if (!document.write(options.json == "-" ? "/dev/stdout" : options.json, error))
        return complain(exit_usage, error);
    return exit_ok;
}

int run(const TopOptions &options)
{
    inspect::Processes processes(options.pids);
    catch_interrupt();
    if (!options.once && !options.prometheus && options.json.empty()) {
        top::run_screen(processes, options.interval, options.sort);
        return exit_ok;
    }
    const bool rates = options.once || !options.json.empty();
    const std::vector<top::View> views =
        rates ? look_twice(processes, options.interval) : top::views(processes.look(), {});
    int code = exit_ok;
    if (options.prometheus)
        fmt::print("{}", top::prometheus_text(views));
    if (options.once && views.empty())
        fmt::print("No process that may be read runs the library.\n");
    if (options.once)
        fmt::print("{}", top::once_text(views));
    if (options.once && processes.refused() != 0)
        fmt::print("{} more processes may not be read; name one of them to see which permission is missing.\n",
                   processes.refused());
    if (!options.json.empty())
        code = write_json(options, views);
    return complain_of(views) && code == exit_ok ? exit_usage : code;
}

} // namespace

Registration add_top(CLI::App &application)
{
    auto options = std::make_shared<TopOptions>();
    CLI::App *command = add_command(application, "top", "watch the processes that run the library, from outside");
    command->add_option("pid", options->pids, "processes to inspect; default: all that run the library")
        ->check(CLI::PositiveNumber);
    command->add_flag("--once", options->once, "print one table, whose rates cover one interval, and exit");
    command->add_option("--json", options->json,
                        "write the figures of one interval as JSON to FILE; - is standard output");
    command->add_flag("--prometheus", options->prometheus, "print metrics in Prometheus' text format")
        ->excludes("--once")
        ->excludes("--json");
    command->add_option("--interval", options->interval, "seconds between two readings")
        ->check(CLI::Range(0.1, 3600.0))
        ->capture_default_str();
    command->add_option("--sort", options->sort, "column by which the full-screen view is sorted when it starts")
        ->capture_default_str();
    return {command, [options] { return run(*options); }};
}

} // namespace lab

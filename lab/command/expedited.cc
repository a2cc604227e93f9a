// SPDX-License-Identifier: MIT OR Apache-2.0
// `rtrcu expedited`: how long a critical caller waits for a grace period, and who should run it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>

#include "command/command.h"
#include "expedited/checks.h"
#include "expedited/plan.h"
#include "expedited/rows.h"
#include "machine/realtime.h"
#include "measure/clock.h"
#include "measure/quantile.h"
#include "report/page.h"

namespace lab
{
namespace
{

using namespace expedited;

struct Options {
    CommonOptions common;
    std::vector<std::string> set;
    std::string out = "out";
};

struct Run {
    Options options;
    Machine machine;
    ExperimentOptions experiment;
    Plan plan;
};

constexpr std::size_t curve_points = 300;

bool prepare(Run &run, std::string &error)
{
    const Options &options = run.options;
    for (const std::string &setting : options.set) {
        const std::size_t equals = setting.find('=');
        if (equals == std::string::npos) {
            error = fmt::format("--set {}: wants NAME=VALUE, as in --set kthread_prio=5", setting);
            return false;
        }
        run.experiment.settings.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
    }
    if (!run.machine.realtime_permitted) {
        error =
            "the kernel refuses SCHED_FIFO to this user, and a critical caller without it means nothing: run as root, "
            "give the program CAP_SYS_NICE, or raise the rtprio limit (ulimit -r 20)";
        return false;
    }
    if (run.machine.cpus_allowed.size() < 2) {
        error = "one CPU is not enough: readers would never run beside the caller; allow this process two or more "
                "(taskset -c 0,1, or more CPUs for the machine)";
        return false;
    }
    run.experiment.cpus = run.machine.cpus_allowed;
    const CommonOptions &common = options.common;
    const double seconds = common.seconds > 0 ? common.seconds : common.quick ? 12 : 120;
    run.plan = make_plan(common.quick, seconds, static_cast<unsigned>(run.experiment.cpus.size()));
    return true;
}

double seconds_of(const GroupPlan &group)
{
    return static_cast<double>(group.duration_ns) / 1e9;
}

const GroupPlan &group_of(const Run &run, Group group)
{
    return run.plan.group[static_cast<int>(group)];
}

void print_plan(const Run &run)
{
    const GroupPlan &worker = group_of(run, Group::worker), &busy = group_of(run, Group::busy),
                    &throughput = group_of(run, Group::throughput);
    const Variant &variant = run.plan.cells.front().variant;
    fmt::print("A critical thread waits for expedited grace periods beside ordinary load: who should run them?\n\n");
    fmt::print("  the caller: SCHED_FIFO {}, a low priority; between two calls it sleeps for 0.5 to 1.5 ms\n",
               caller_priority);
    fmt::print("  the tables of 2022: {} hogs a CPU and {} readers with short sections, all SCHED_OTHER; worker "
               "workqueue (SCHED_OTHER) against kthread (SCHED_FIFO)\n    {} experiments of {:.2f} s each, variants in "
               "turn, a process each\n",
               variant.hogs_a_cpu, variant.readers, worker.experiments, seconds_of(worker));
    fmt::print("  the same beside outside load, 2 hogs a CPU and a writer of files in sessions of their own: {} "
               "experiments of {:.2f} s each\n",
               group_of(run, Group::loaded).experiments, seconds_of(group_of(run, Group::loaded)));
    fmt::print("  busy readers, inside a section most of the time: {} experiments of {:.2f} s each\n", busy.experiments,
               seconds_of(busy));
    fmt::print("  their throughput at 1,000 requests a second: {} experiments of {:.2f} s each\n",
               throughput.experiments, seconds_of(throughput));
    fmt::print("  floor: the same caller wakes a SCHED_FIFO thread and waits for its answer; seed {}\n\n",
               run.options.common.seed);
    fflush(stdout);
}

// Group by group, experiment by experiment, each variant once.  False when interrupted.
bool run_cells(Run &run)
{
    double total = 0, done = 0;
    for (const Cell &cell : run.plan.cells)
        total += group_of(run, cell.group).experiments * (seconds_of(group_of(run, cell.group)) + 0.1);
    Progress progress("measuring", total);
    for (Group group : {Group::worker, Group::loaded, Group::busy, Group::throughput}) {
        const GroupPlan &plan = group_of(run, group);
        for (unsigned experiment = 0; experiment < plan.experiments; experiment++)
            for (Cell &cell : run.plan.cells) {
                if (cell.group != group)
                    continue;
                if (interrupted())
                    return false;
                progress.at(done, fmt::format("experiment {} of {}, {}", experiment + 1, plan.experiments,
                                              cell.variant.label()));
                done += seconds_of(plan) + 0.1;
                if (!cell.error.empty())
                    continue;
                ExperimentOptions options = run.experiment;
                options.duration_ns = plan.duration_ns;
                options.seed = run.options.common.seed * 1000 + experiment;
                ExperimentRecord record(static_cast<std::size_t>(2 * plan.duration_ns / pause_between_ns) + 64);
                if (run_experiment(cell.variant, options, record, cell.error))
                    cell.add(record);
            }
    }
    return true;
}

void print_results(const Run &run)
{
    for (Group group : {Group::worker, Group::loaded})
        fmt::print("{}\n\n{}\n{}\n",
                   group == Group::loaded ? "Beside hogs and writers of another process group"
                                          : "Nothing runs beside the experiment",
                   duration_table(run.plan, group), range_table(run.plan, group));
    fmt::print("Busy readers on {} CPUs, synchronize_rcu_expedited() beside liburcu-memb's synchronize_rcu() "
               "(unfinished: cut short by the end of the experiment; lent: times)\n\n{}\n",
               run.machine.cpus_allowed.size(), busy_table(busy_rows(run.plan)));
    fmt::print("What readers got done while grace periods were asked for, and not waited for, 1,000 times a second\n\n"
               "{}\n",
               throughput_table(throughput_rows(run.plan)));
}

Json curves(const Run &run)
{
    Json curves = Json::array();
    for (const Cell &cell : run.plan.cells) {
        if (cell.group != Group::worker || cell.experiments == 0)
            continue;
        const bool floor = cell.variant.call == Call::round_trip;
        Json cdf = Json::array();
        for (const auto &[ns, share] : Samples(cell.all_latencies()).cdf(curve_points))
            cdf.push_back({ns, share});
        curves.push_back({{"worker", floor                    ? "none"
                                     : cell.variant.workqueue ? "workqueue"
                                                              : "kthread"},
                          {"boost", floor ? Json(nullptr) : Json(cell.variant.boost)},
                          {"cdf", cdf}});
    }
    return curves;
}

Json arguments(const Run &run)
{
    Json json = common_arguments(run.options.common);
    json["set"] = run.options.set;
    json["caller_priority"] = caller_priority;
    json["experiments"] = group_of(run, Group::worker).experiments;
    json["experiment_ms"] = group_of(run, Group::worker).duration_ns / 1'000'000;
    json["busy_ms"] = group_of(run, Group::busy).duration_ns / 1'000'000;
    return json;
}

int conclude(const Run &run, bool complete)
{
    bool broken = false, any = false;
    for (const Cell &cell : run.plan.cells) {
        any = any || cell.experiments != 0;
        broken = broken || !cell.error.empty();
    }
    if (any)
        print_results(run);
    for (const Cell &cell : run.plan.cells)
        if (!cell.error.empty())
            fmt::print("{} left out after {} experiments: {}\n", cell.variant.label(), cell.experiments, cell.error);
    if (!any)
        return complain(broken ? exit_check_failed : exit_usage, "nothing was measured");
    const bool judge_times = complete && !run.options.common.quick;
    const std::vector<Verdict> verdicts =
        judge(run.plan, static_cast<unsigned>(run.machine.cpus_allowed.size()), judge_times);
    fmt::print("{}", judgement_text(verdicts, judge_times));
    Json document = make_document("expedited", run.machine, arguments(run));
    document["rows"] = all_rows(run.plan);
    Json page = document;
    page["curves"] = curves(run);
    page["verdicts"] = to_json(verdicts);
    fmt::print("\n{}\n", write_plot_page("expedited", run.options.out, page));
    return finish(run.options.common, document, broken || any_failed(verdicts) ? exit_check_failed : exit_ok);
}

int run_expedited(const Options &options)
{
    Run run;
    run.options = options;
    run.machine = read_machine();
    std::string error;
    if (!prepare(run, error))
        return complain(exit_usage, error);
    print_plan(run);
    catch_interrupt();
    const bool complete = run_cells(run);
    if (!complete)
        fmt::print("interrupted: the figures are of what was completed\n");
    return conclude(run, complete);
}

} // namespace

Registration add_expedited(CLI::App &application)
{
    auto options = std::make_shared<Options>();
    CLI::App *command = application.add_subcommand(
        "expedited",
        "how long a critical caller waits for a grace period, by who runs it and with readers boosted or not");
    add_common_options(*command, options->common);
    command->add_option("--set", options->set, "NAME=VALUE of the library's configuration, for every variant of it");
    command->add_option("--out", options->out, "directory for expedited.html")->capture_default_str();
    return {command, [options] { return run_expedited(*options); }};
}

} // namespace lab

// SPDX-License-Identifier: MIT OR Apache-2.0
// `rtrcu blocked`: readers that are parked inside their sections, and where they are listed.
#include <fmt/format.h>
#include <memory>

#include "blocked/checks.h"
#include "blocked/experiment.h"
#include "blocked/plan.h"
#include "blocked/rows.h"
#include "command/command.h"
#include "machine/realtime.h"
#include "measure/quantile.h"
#include "report/chart.h"
#include "report/page.h"

namespace lab
{
namespace
{

using namespace blocked;

struct Options {
    CommonOptions common;
    unsigned runs = 0, readers = 64, carriers = 0, preemptors = 32;
    double burst_ms = 1, preempted_pct = 60;
    std::string out = "out";
};

struct Run {
    Options options;
    Machine machine;
    std::string program;
    Plan plan;
};

constexpr std::size_t curve_points = 300;
constexpr unsigned full_runs = 100, quick_runs = 5;

bool prepare(Run &run, std::string &error)
{
    const Options &options = run.options;
    if (!run.machine.realtime_permitted) {
        error = "the kernel refuses SCHED_FIFO to this user, and nothing would preempt the readers: run as root, give "
                "the program CAP_SYS_NICE, or raise the rtprio limit (ulimit -r 20)";
        return false;
    }
    const std::size_t cpus = run.machine.cpus_allowed.size();
    if (cpus < 2) {
        error = "one CPU is not enough: nobody would want a lock whose holder is preempted; allow this process two or "
                "more (taskset -c 0,1, or more CPUs for the machine)";
        return false;
    }
    run.program = find_child_program();
    if (run.program.empty()) {
        error = "rtrcu-blocked-child was not found beside this program, nor where it would be installed: build it "
                "(make build), or install the program anew (make install)";
        return false;
    }
    RunRequest request = usual_request();
    request.readers = options.readers;
    request.carriers =
        options.carriers != 0 ? options.carriers : static_cast<unsigned>(std::min<std::size_t>(cpus, 16));
    request.preemptors = options.preemptors;
    request.cpus = run.machine.cpus_allowed;
    request.burst_ns = static_cast<int64_t>(options.burst_ms * 1e6);
    request.preempted_share = options.preempted_pct / 100;
    request.seed = options.common.seed;
    const bool quick = options.common.quick;
    run.plan = make_plan(options.runs != 0 ? options.runs
                         : quick           ? quick_runs
                                           : full_runs,
                         options.common.seconds, request);
    return true;
}

void print_plan(const Run &run)
{
    const RunRequest &request = run.plan.request;
    fmt::print("Readers that are parked inside their sections: on the node's list or on their thread's own?\n\n");
    fmt::print("  {} reader fibers on {} carrier threads; an iteration: lock, park inside, unlock\n", request.readers,
               request.carriers);
    fmt::print("  {} SCHED_FIFO threads preempt the carriers, {:.2f} ms at a time on average, for about {:.0f} % of "
               "each CPU\n",
               request.preemptors, static_cast<double>(request.burst_ns) / 1e6, request.preempted_share * 100);
    fmt::print("  lists: node-spin (as in 2026), node (priority-inheriting), percpu; and the same fibers without "
               "sections, the ceiling\n");
    fmt::print("  {} runs of each in turn, of the ceiling half as many, {:.2f} s a run: {:.0f} s in all; then who is "
               "waited for, and crowds of parked tasks; seed {}\n\n",
               run.plan.runs, seconds_a_run(request), seconds_a_run(request) * total_runs(run.plan), request.seed);
    fflush(stdout);
}

// Run by run, each variant once; every round begins with another.  False when interrupted.
bool run_cells(Run &run, Progress &progress, double &done)
{
    const std::size_t count = run.plan.cells.size();
    for (unsigned round = 0; round < run.plan.runs; round++)
        for (std::size_t i = 0; i < count; i++) {
            Cell &cell = run.plan.cells[(round + i) % count];
            if (interrupted())
                return false;
            if (!takes_part(cell.lists, round))
                continue;
            progress.at(done, fmt::format("run {} of {}, {}", round + 1, run.plan.runs, name_of(cell.lists)));
            done += seconds_a_run(run.plan.request);
            if (!cell.error.empty())
                continue;
            RunRequest request = run.plan.request;
            request.lists = cell.lists;
            request.seed = run.options.common.seed * 1'000 + round;
            RunResult result;
            if (ask(run.program, request, result, cell.error))
                cell.runs.push_back(std::move(result));
        }
    return true;
}

bool run_all(Run &run)
{
    constexpr double other_parts_s = 2;
    double done = 0;
    Progress progress("measuring", other_parts_s + seconds_a_run(run.plan.request) * total_runs(run.plan));
    if (!run_cells(run, progress, done))
        return false;
    for (OrderCell &cell : run.plan.orders) {
        if (interrupted())
            return false;
        progress.at(done, "who is waited for, " + name_of(cell.request.lists));
        (void)ask(run.program, cell.request, cell.result, cell.error);
    }
    for (CrowdCell &cell : run.plan.crowds) {
        if (interrupted())
            return false;
        progress.at(done, fmt::format("{} parked tasks", cell.request.tasks));
        (void)ask(run.program, cell.request, cell.result, cell.error);
    }
    return true;
}

std::vector<Strip> latency_strips(const Plan &plan)
{
    std::vector<Strip> strips;
    for (const Cell &cell : plan.cells)
        if (cell.lists != Lists::none)
            strips.push_back({name_of(cell.lists), gp_latencies(cell)});
    return strips;
}

void print_results(const Run &run)
{
    fmt::print("Iterations under preemption, and how long grace periods took (floor: how late the caller woke)\n\n{}\n",
               lists_table(run.plan));
    fmt::print("The node's lock under preemption: acquisitions by readers while no grace period waits and with grace "
               "periods, their time in it and waiting for it, and how long it was held\n\n{}\n",
               lock_table(run.plan));
    fmt::print("{}\n", density_chart("How long grace periods took, under preemption", latency_strips(run.plan), 60));
    fmt::print("Who is waited for: tasks parked before and after a grace period's beginning, unlocked in random "
               "order\n\n{}\n",
               order_table(run.plan));
    fmt::print("Crowds of parked tasks (begin: until the last is waited for; end: from the last unlock)\n\n{}\n",
               crowd_table(run.plan));
}

// Says what was left out; true if anything was.
bool print_errors(const Run &run)
{
    bool any = false;
    const auto say = [&any](const std::string &what, const std::string &error) {
        if (!error.empty())
            fmt::print("{} left out: {}\n", what, error);
        any = any || !error.empty();
    };
    for (const Cell &cell : run.plan.cells)
        say(fmt::format("{} after {} runs", name_of(cell.lists), cell.runs.size()), cell.error);
    for (const OrderCell &cell : run.plan.orders)
        say("who is waited for, " + name_of(cell.request.lists), cell.error);
    for (const CrowdCell &cell : run.plan.crowds)
        say(fmt::format("{} parked tasks, {}", cell.request.tasks, name_of(cell.request.lists)), cell.error);
    return any;
}

// What the page draws beside the rows.
Json page_of(const Run &run, const Json &document, const std::vector<Verdict> &verdicts)
{
    Json page = document;
    page["curves"] = Json::array();
    for (const Cell &cell : run.plan.cells) {
        std::vector<uint64_t> holds;
        for (const RunResult &result : cell.runs)
            for (const LockUse *use : {&result.metered.readers, &result.metered.others}) {
                holds.resize(std::max(holds.size(), use->hold_log2.size()));
                for (std::size_t i = 0; i < use->hold_log2.size(); i++)
                    holds[i] += use->hold_log2[i];
            }
        Json cdf = Json::array();
        for (const auto &[ns, share] : Samples(gp_latencies(cell)).cdf(curve_points))
            cdf.push_back({ns, share});
        page["curves"].push_back({{"lists", name_of(cell.lists)},
                                  {"iterations_per_s", iterations_per_s(cell)},
                                  {"hold_log2", holds},
                                  {"cdf", cdf}});
    }
    page["verdicts"] = to_json(verdicts);
    return page;
}

Json arguments(const Run &run)
{
    const RunRequest &request = run.plan.request;
    Json json = common_arguments(run.options.common);
    json["runs"] = run.plan.runs;
    json["readers"] = request.readers;
    json["carriers"] = request.carriers;
    json["preemptors"] = request.preemptors;
    json["burst_ms"] = run.options.burst_ms;
    json["preempted_pct"] = run.options.preempted_pct;
    json["gp_pause_ms"] = request.gp_pause_ns / 1'000'000;
    json["throughput_ms"] = request.throughput_ns / 1'000'000;
    json["metered_ms"] = request.metered_ns / 1'000'000;
    json["without_gp_ms"] = request.without_gp_ns / 1'000'000;
    json["undisturbed_ms"] = request.undisturbed_ns / 1'000'000;
    return json;
}

int conclude(const Run &run, bool complete)
{
    bool any = false;
    for (const Cell &cell : run.plan.cells)
        any = any || !cell.runs.empty();
    if (any)
        print_results(run);
    const bool broken = print_errors(run);
    if (!any)
        return complain(broken ? exit_check_failed : exit_usage, "nothing was measured");
    const bool judge_times = complete && !run.options.common.quick;
    const std::vector<Verdict> verdicts = judge(run.plan, judge_times);
    fmt::print("{}", judgement_text(verdicts, judge_times));
    Json document = make_document("blocked", run.machine, arguments(run));
    document["rows"] = all_rows(run.plan);
    fmt::print("\n{}\n", write_plot_page("blocked", run.options.out, page_of(run, document, verdicts)));
    return finish(run.options.common, document, broken || any_failed(verdicts) ? exit_check_failed : exit_ok);
}

int run_blocked(const Options &options)
{
    Run run;
    run.options = options;
    run.machine = read_machine();
    std::string error;
    if (!prepare(run, error))
        return complain(exit_usage, error);
    print_plan(run);
    catch_interrupt();
    const bool complete = run_all(run);
    if (!complete)
        fmt::print("interrupted: the figures are of what was completed\n");
    return conclude(run, complete);
}

} // namespace

Registration add_blocked(CLI::App &application)
{
    auto options = std::make_shared<Options>();
    CLI::App *command = application.add_subcommand(
        "blocked", "readers that are parked inside their sections, on the node's list or on their thread's own");
    add_common_options(*command, options->common);
    command->add_option("--runs", options->runs, "runs of each variant; 100 by default, 5 with --quick")
        ->check(CLI::Range(1, 10'000));
    command->add_option("--readers", options->readers, "reader fibers")
        ->check(CLI::Range(1, 100'000))
        ->capture_default_str();
    command->add_option("--carriers", options->carriers, "threads that carry them; one a CPU by default")
        ->check(CLI::Range(1, 16));
    command->add_option("--preemptors", options->preemptors, "SCHED_FIFO threads that preempt the carriers")
        ->check(CLI::Range(1, 1'000))
        ->capture_default_str();
    command->add_option("--burst-ms", options->burst_ms, "mean time that a preemptor keeps a CPU")
        ->check(CLI::Range(0.05, 50.0))
        ->capture_default_str();
    command->add_option("--preempted", options->preempted_pct, "per cent of each CPU that all of them take, about")
        ->check(CLI::Range(1.0, 85.0))
        ->capture_default_str();
    command->add_option("--out", options->out, "directory for blocked.html")->capture_default_str();
    return {command, [options] { return run_blocked(*options); }};
}

} // namespace lab

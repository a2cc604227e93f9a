// SPDX-License-Identifier: MIT OR Apache-2.0
// `rtrcu latency`: what reclamation does to a deadline, policy by policy, on real work.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>

#include "command/command.h"
#include "latency/checks.h"
#include "latency/child.h"
#include "latency/page.h"
#include "latency/plan.h"
#include "latency/rows.h"
#include "machine/realtime.h"
#include "measure/clock.h"
#include "report/chart.h"
#include "report/table.h"
#include "workload/inputs.h"

namespace lab
{
namespace
{

struct Options {
    CommonOptions common;
    PlanOptions plan;
    InputOptions inputs;
    std::vector<std::string> set; // NAME=VALUE of the library's configuration
    bool other = false;
    bool raised_threshold = false;
    bool let_sleep = false;
    double work_us = 40;
    double probe_us = 200;
    double reader_ms = 10;
    std::string out = "out";
};

// Everything a run holds.
struct Run {
    Options options;
    Machine machine;
    Inputs inputs;
    std::vector<Variant> plan;
    ChildOptions child;
    LoopParameters loop;
    std::vector<uint64_t> interrupts; // what one takes from whoever runs, before and after the measurement
    double seconds = 0;               // how long to measure
    unsigned planned_rounds = 0, rounds = 0;
    double unit_s = 0; // measured time of weight 1
    std::vector<std::unique_ptr<VariantProcess>> processes;
};

bool prepare_options(Run &run, std::string &error)
{
    Options &options = run.options;
    for (const std::string &setting : options.set) {
        std::size_t equals = setting.find('=');
        if (equals == std::string::npos) {
            error = fmt::format("--set {}: wants NAME=VALUE, as in --set qhimark=5000", setting);
            return false;
        }
        run.child.settings.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
    }
    options.plan.fifo = !options.other;
    options.plan.judge_tail = !options.common.quick;
    if (!make_plan(options.plan, run.plan, error))
        return false;
    if (!run.machine.realtime_permitted && !options.other) {
        error = realtime_refusal();
        return false;
    }
    const std::vector<int> &cpus = run.machine.cpus_allowed;
    run.child.loop_cpu = cpus.back();
    run.child.other_cpus = cpus.size() > 1 ? std::vector<int>(cpus.begin(), cpus.end() - 1) : cpus;
    run.child.seed = options.common.seed;
    run.child.route = route_parameters(options.raised_threshold);
    run.child.reader_section_ns = static_cast<int64_t>(options.reader_ms * 1e6);
    run.child.keep_awake = !options.let_sleep;
    options.inputs.seed = options.common.seed;
    if (options.common.quick) {
        options.inputs.max_tree_entries = 50'000;
        options.inputs.max_tree_ns = 2'000'000'000;
    }
    return true;
}

void plan_time(Run &run)
{
    const CommonOptions &common = run.options.common;
    run.seconds = common.seconds > 0 ? common.seconds : common.quick ? 6 : 62;
    double weights = 0;
    for (const Variant &variant : run.plan)
        weights += variant.weight;
    // A round of a variant costs its companions' start and end and a warm-up beside what it measures.
    constexpr double overhead_s = 0.03;
    const auto variants = static_cast<double>(run.plan.size());
    double rounds = run.seconds / (weights * 0.2 + variants * overhead_s);
    run.planned_rounds = static_cast<unsigned>(std::clamp(rounds, common.quick ? 2.0 : 3.0, 12.0));
    double a_round = std::max(0.02, (run.seconds / run.planned_rounds - variants * overhead_s) / weights);
    run.unit_s = a_round * run.planned_rounds;
    run.loop.probe_period_ns = static_cast<int64_t>(run.options.probe_us * 1000);
    // Not a multiple of the probe's period, nor near one: the two drift through every phase.
    run.loop.work_period_ns = run.loop.probe_period_ns * 108'607 / 100'003;
}

bool start_processes(Run &run)
{
    Progress progress("building the variants", static_cast<double>(run.plan.size()));
    for (const Variant &variant : run.plan) {
        const double seconds = run.unit_s * variant.weight * 1.2 + 1;
        const auto samples = static_cast<std::size_t>(seconds * 1e6 / run.options.probe_us);
        auto process = std::make_unique<VariantProcess>(variant, run.inputs, run.child, samples,
                                                        static_cast<std::size_t>(seconds * 1000));
        progress.at(static_cast<double>(run.processes.size()), variant.label());
        (void)process->start();
        run.processes.push_back(std::move(process));
        if (interrupted())
            return false;
    }
    return true;
}

// The share of work is the same for all variants of a workload: measured once, where nothing is reclaimed.
std::vector<unsigned> calibrate(Run &run)
{
    std::vector<unsigned> operations(run.processes.size(), 1);
    for (std::size_t i = 0; i < run.processes.size(); i++) {
        VariantProcess &process = *run.processes[i];
        if (process.variant().policy->peer != &none_peer || !process.calibrate())
            continue;
        double each_ns = process.record().sum().work_ns_per_operation;
        auto an_event = static_cast<unsigned>(std::max(1.0, run.options.work_us * 1000 / each_ns));
        fmt::print("  {}: {:.0f} ns an operation, {} operations an event\n", process.variant().workload, each_ns,
                   an_event);
        for (std::size_t j = 0; j < run.processes.size(); j++)
            if (run.processes[j]->variant().workload == process.variant().workload)
                operations[j] = an_event;
    }
    return operations;
}

// One round: every variant once.  False when Ctrl-C came.
bool run_round(Run &run, const std::vector<unsigned> &operations, unsigned round, Progress &progress)
{
    for (std::size_t i = 0; i < run.processes.size(); i++) {
        if (interrupted())
            return false;
        VariantProcess &process = *run.processes[i];
        progress.at(round + static_cast<double>(i) / static_cast<double>(run.processes.size()),
                    fmt::format("round {} of {}, {}", round + 1, run.planned_rounds, process.variant().label()));
        LoopParameters parameters = run.loop;
        parameters.operations_an_event = operations[i];
        parameters.measure_ns = static_cast<int64_t>(run.unit_s * process.variant().weight / run.planned_rounds * 1e9);
        if (process.usable())
            (void)process.round(parameters);
    }
    return true;
}

// What the machine does meanwhile falls on all variants, since they take turns.  A machine that is so busy that rounds
// take much longer than planned gets fewer of them.  False when Ctrl-C came.
bool run_rounds(Run &run, const std::vector<unsigned> &operations)
{
    const int64_t begin_ns = now_ns();
    Progress progress("measuring", run.planned_rounds);
    for (run.rounds = 0; run.rounds < run.planned_rounds; run.rounds++) {
        double took_s = static_cast<double>(now_ns() - begin_ns) / 1e9;
        if (run.rounds >= 2 && took_s * (run.rounds + 1) / run.rounds > run.seconds * 1.25)
            break;
        if (!run_round(run, operations, run.rounds, progress))
            return false;
    }
    return true;
}

std::vector<Row> make_rows(const Run &run)
{
    std::vector<Row> rows;
    for (const char *probe : {"loop", "thread"})
        for (const auto &process : run.processes)
            if (process->record().sum().rounds != 0)
                rows.push_back(make_row(process->variant(), process->record(), probe));
    fill_floors(rows);
    return rows;
}

Samples inline_overruns(const Run &run)
{
    std::vector<uint64_t> all;
    for (const auto &process : run.processes) {
        if (std::string(process->variant().policy->name) != "inline" || !process->variant().fifo)
            continue;
        Samples samples = overrun_cpu(process->record());
        all.insert(all.end(), samples.sorted().begin(), samples.sorted().end());
    }
    return Samples(std::move(all));
}

void print_plan(const Run &run, const std::vector<std::string> &notes)
{
    fmt::print(
        "An event loop with a deadline serves real work over RCU; who runs the callbacks, and what does it do to the "
        "deadline?\n\n");
    for (const std::string &note : notes)
        fmt::print("  {}\n", note);
    fmt::print("  probe: due every {:g} us; work: an event of about {:g} us every {:.0f} us; loop on CPU {} as {}\n",
               run.options.probe_us, run.options.work_us, static_cast<double>(run.loop.work_period_ns) / 1000,
               run.child.loop_cpu, run.options.other ? "SCHED_OTHER" : fmt::format("SCHED_FIFO {}", loop_priority));
    fmt::print(
        "  beside it: a control thread of SCHED_FIFO {} every {:g} us; a reader on another CPU in sections of {:g} ms "
        "over the whole structure\n",
        thread_probe_priority, static_cast<double>(run.child.thread_period_ns) / 1000, run.options.reader_ms);
    if (run.child.keep_awake)
        fmt::print("  a spinner at idle priority keeps the loop's CPU from being halted\n");
    fmt::print("  {} variants, {} rounds, {:.1f} s of measured time for one of weight 1; seed {}\n", run.plan.size(),
               run.planned_rounds, run.unit_s, run.options.common.seed);
    fflush(stdout);
}

void print_policies(const Run &run)
{
    std::string previous;
    fmt::print("\npolicies:\n");
    for (const PolicyRow &row : policy_table())
        for (const Variant &variant : run.plan)
            if (variant.policy == &row && previous != row.name) {
                fmt::print("  {:<10}{}\n", row.name, row.what);
                previous = row.name;
            }
}

void print_results(const Run &run, const std::vector<Row> &rows)
{
    fmt::print(
        "\nLateness of the loop's deadline probe, microseconds.  floor: the same with policy none; control: p99 of a "
        "thread above the loop.\n\n{}\n",
        latency_table(rows));
    Samples interrupts(run.interrupts);
    auto interrupt_us = [&](double quantile) {
        return number(static_cast<double>(interrupts.quantile_of_few(quantile).value_or(0)) / 1000);
    };
    fmt::print("What callbacks did, microseconds.  gp: callbacks that one grace period made ready; ns: time of one; "
               "over: from "
               "the probe's due\ntime to the end of the batch then running, and in CPU time of the loop; late: "
               "callbacks begun "
               "after the probe was due.\nA timer interrupt takes {} us of CPU time from whoever runs here (p50; p95 "
               "{}).\n\n{}\n",
               interrupt_us(0.5), interrupt_us(0.95), callback_table(rows));
    std::vector<Strip> strips;
    for (const auto &process : run.processes)
        if (process->record().sum().rounds != 0 && process->variant().burst % flood_burst == 0)
            strips.push_back({process->variant().label(), loop_lateness(process->record()).sorted()});
    fmt::print("{}", density_chart("Lateness, by share of samples: █ 10 % or more, ▓ 1 %, ▒ 0.1 %, ░ 0.01 %, · less",
                                   strips, 72));
    print_policies(run);
}

Json arguments(const Options &options)
{
    Json json = common_arguments(options.common);
    json["workloads"] = options.plan.workloads;
    json["policies"] = options.plan.policies;
    json["set"] = options.set;
    json["other"] = options.other;
    json["raised_threshold"] = options.raised_threshold;
    json["work_us"] = options.work_us;
    json["probe_us"] = options.probe_us;
    json["reader_ms"] = options.reader_ms;
    return json;
}

void report_failures(const Run &run)
{
    for (const auto &process : run.processes)
        if (!process->usable())
            fmt::print("\n{} left out: {}\n", process->variant().label(), process->error());
}

void measure_interrupts(Run &run)
{
    const double seconds = run.options.common.quick ? 0.1 : 0.4;
    for (uint64_t gap : interrupt_cost(run.child.loop_cpu, seconds, run.options.other ? 0 : loop_priority))
        run.interrupts.push_back(gap);
}

int conclude(Run &run, bool complete)
{
    std::vector<Row> rows = make_rows(run);
    if (rows.empty())
        return complain(exit_usage, "nothing was measured");
    print_results(run, rows);
    report_failures(run);
    Samples overruns = inline_overruns(run);
    const bool judge_times = complete && !run.options.common.quick;
    std::vector<Verdict> verdicts = judge_latency({rows, overruns, Samples(run.interrupts), judge_times});
    fmt::print("\n{}", judgement_text(verdicts, judge_times));

    Json document = make_document("latency", run.machine, arguments(run.options));
    for (const Row &row : rows)
        document["rows"].push_back(to_json(row));
    PageInput page{rows, run.processes, verdicts, document, run.options.out};
    fmt::print("\n{}\n", write_page(page));
    bool broken = any_failed(verdicts);
    for (const auto &process : run.processes)
        broken = broken || !process->usable();
    return finish(run.options.common, document, broken ? exit_check_failed : exit_ok);
}

int run_latency(const Options &options)
{
    Run run;
    run.options = options;
    run.machine = read_machine();
    std::string error;
    if (!prepare_options(run, error))
        return complain(exit_usage, error);
    std::vector<std::string> notes;
    if (!load_inputs(run.options.inputs, run.inputs, notes, error))
        return complain(exit_usage, error);
    plan_time(run);
    print_plan(run, notes);
    catch_interrupt();
    measure_interrupts(run);
    bool complete = start_processes(run) && run_rounds(run, calibrate(run));
    measure_interrupts(run);
    if (!complete)
        fmt::print("\ninterrupted: {} of {} rounds were completed\n", run.rounds, run.planned_rounds);
    else if (run.rounds < run.planned_rounds)
        fmt::print("\nthe machine is busy: {} of {} rounds fitted into the time\n", run.rounds, run.planned_rounds);
    return conclude(run, complete);
}

} // namespace

Registration add_latency(CLI::App &application)
{
    auto options = std::make_shared<Options>();
    CLI::App *command = application.add_subcommand("latency", "what reclamation does to a deadline, policy by policy");
    add_common_options(*command, options->common);
    command->add_option("--workload", options->plan.workloads, "dcache, route or flood; may be repeated; default all");
    command->add_option("--policy", options->plan.policies,
                        "none, unbounded, inline, daemon, krcud, throttle, direct, liburcu; may be repeated");
    command->add_option("--set", options->set, "NAME=VALUE of the library's configuration, for every policy of it");
    command->add_option("--tree", options->inputs.tree, "directory tree for the dentry cache, or 'generated'");
    command->add_option("--loadfile", options->inputs.loadfile, "dbench loadfile, or 'generated'");
    command->add_option("--geoip", options->inputs.geoip, "tor geoip file, or 'generated'");
    command->add_flag("--other", options->other, "the loop as SCHED_OTHER; needs no permission");
    command->add_flag("--raised-threshold", options->raised_threshold,
                      "route: a garbage-collection threshold never reached");
    command->add_flag("--let-sleep", options->let_sleep, "no spinner at idle priority on the loop's CPU");
    command->add_option("--work-us", options->work_us, "length of one event of work")
        ->check(CLI::Range(1.0, 10000.0))
        ->capture_default_str();
    command->add_option("--probe-us", options->probe_us, "period of the deadline probe")
        ->check(CLI::Range(20.0, 100000.0))
        ->capture_default_str();
    command->add_option("--reader-ms", options->reader_ms, "length of the long reader's sections")
        ->check(CLI::Range(0.0, 1000.0))
        ->capture_default_str();
    command->add_option("--out", options->out, "directory for latency.html")->capture_default_str();
    return {command, [options] { return run_latency(*options); }};
}

} // namespace lab

// SPDX-License-Identifier: MIT OR Apache-2.0
// `rtrcu overhead`: what three engines for finding grace periods cost, and what they save, on a route cache.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>

#include "command/command.h"
#include "machine/realtime.h"
#include "machine/shared_value.h"
#include "measure/quantile.h"
#include "overhead/checks.h"
#include "overhead/document.h"
#include "overhead/rows.h"
#include "report/table.h"
#include "workload/inputs.h"

namespace lab
{
namespace
{

using namespace overhead;

struct Options {
    CommonOptions common;
    std::vector<std::string> engines, environments, set;
    std::string geoip;
    unsigned threads = 0; // 0: one a CPU
    double sample_us = 250;
    bool signals = false;
};

struct Run {
    Options options;
    Machine machine;
    Inputs inputs;
    RoundOptions round;
    unsigned rounds = 0;
    std::vector<Total> totals; // environment by environment, engines in the table's order
};

constexpr double round_start_s = 0.12; // fork, threads, the cache filled
constexpr double floor_s = 0.5;

template <class Table, class Name> std::string names_of(const Table &table, Name name)
{
    std::vector<std::string> names;
    for (const auto &row : table)
        names.push_back(name(row));
    return fmt::format("{}", fmt::join(names, ", "));
}

bool wanted(const std::vector<std::string> &chosen, const std::string &name)
{
    return chosen.empty() || std::find(chosen.begin(), chosen.end(), name) != chosen.end();
}

bool choose(Run &run, std::string &error)
{
    const Options &options = run.options;
    for (const std::string &label : options.engines) {
        if (find_engine(label) == nullptr) {
            error = fmt::format("--engine {}: there are {}", label,
                                names_of(engine_table(), [](const EngineRow &row) { return row.label(); }));
            return false;
        }
    }
    for (const Environment &environment : environment_table())
        for (const EngineRow &engine : engine_table())
            if (wanted(options.environments, environment.name) && wanted(options.engines, engine.label())) {
                run.totals.emplace_back();
                run.totals.back().engine = &engine;
                run.totals.back().environment = &environment;
            }
    return true;
}

bool prepare(Run &run, std::vector<std::string> &notes, std::string &error)
{
    const Options &options = run.options;
    if (!choose(run, error))
        return false;
    if (run.machine.cpus_allowed.size() < 2) {
        error = "one CPU is not enough: nothing is shared between forwarding threads that never run at the same time; "
                "allow this process two or more (taskset -c 0,1, or more CPUs for the machine)";
        return false;
    }
    for (const std::string &setting : options.set) {
        const std::size_t equals = setting.find('=');
        if (equals == std::string::npos) {
            error = fmt::format("--set {}: wants NAME=VALUE, as in --set tick_us=1000", setting);
            return false;
        }
        run.round.settings.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
    }
    InputOptions wanted_inputs;
    wanted_inputs.tree = wanted_inputs.loadfile = "generated"; // not used here
    wanted_inputs.max_tree_entries = 2;
    wanted_inputs.geoip = options.geoip;
    wanted_inputs.seed = options.common.seed;
    std::vector<std::string> all;
    if (!load_inputs(wanted_inputs, run.inputs, all, error))
        return false;
    notes.push_back(all.back());
    if (run.inputs.prefixes_synthetic)
        notes.push_back("note: the prefixes are generated; install tor-geoipdb for real ones");
    run.round.cpus = run.machine.cpus_allowed;
    run.round.threads = options.threads != 0 ? options.threads : static_cast<unsigned>(run.round.cpus.size());
    run.round.sample_period_ns = static_cast<int64_t>(options.sample_us * 1000);
    run.round.allow_perf = !options.signals;
    run.round.seed = options.common.seed;
    return true;
}

void plan_time(Run &run)
{
    const CommonOptions &common = run.options.common;
    const double seconds = common.seconds > 0 ? common.seconds : common.quick ? 8 : 75;
    const double a_round_s = (seconds - floor_s) / static_cast<double>(run.totals.size());
    run.rounds = static_cast<unsigned>(std::clamp(a_round_s / 0.7, 1.0, 9.0));
    const double measure_s = std::max(a_round_s / run.rounds - round_start_s, 0.05);
    run.round.warm_up_ns = 50'000'000;
    run.round.measure_ns = static_cast<int64_t>(std::max(measure_s - 0.05, 0.05) * 1e9);
}

void print_plan(const Run &run, const std::vector<std::string> &notes)
{
    fmt::print("Packets to random destinations, a new one after every 5, through a route cache: what does RCU save its "
               "readers, and what does it cost to find grace periods?\n\n");
    for (const std::string &note : notes)
        fmt::print("  {}\n", note);
    fmt::print("  {} forwarding threads on CPUs {}, batches of 64 packets, a quiescent state behind each\n",
               run.round.threads, fmt::join(run.round.cpus, " "));
    for (const Environment &environment : environment_table())
        fmt::print("  updates {}: {}\n", environment.name, environment.what);
    std::string previous;
    fmt::print("  engines:\n");
    for (const Total &total : run.totals)
        if (total.environment == run.totals.front().environment)
            fmt::print("    {:<21}{}\n", total.engine->label(), total.engine->what);
    fmt::print("  {} variants, {} rounds of {:.2f} s each, a process a round; seed {}\n\n", run.totals.size(),
               run.rounds, static_cast<double>(run.round.measure_ns) / 1e9, run.options.common.seed);
    fflush(stdout);
}

// Round by round, every variant once: what the machine does meanwhile falls on all of them.  Returns rounds completed.
unsigned run_rounds(Run &run)
{
    Progress progress("measuring", static_cast<double>(run.rounds * run.totals.size()));
    double done = 0;
    for (unsigned round = 0; round < run.rounds; round++) {
        for (Total &total : run.totals) {
            if (interrupted())
                return round;
            progress.at(done++, fmt::format("round {} of {}, updates {}, {}", round + 1, run.rounds,
                                            total.environment->name, total.engine->label()));
            if (!total.error.empty())
                continue;
            SharedValue<RoundResult> result;
            RoundOptions options = run.round;
            options.seed += round;
            if (run_round_in_child(*total.engine, total.environment->route, run.inputs.prefixes, options, *result,
                                   total.error))
                total.add(*result);
        }
    }
    return run.rounds;
}

void print_floor(const Run &run)
{
    const Samples late(timer_floor(run.machine.cpus_allowed.back(), floor_s, 200'000, 0));
    auto us = [](std::optional<uint64_t> ns) {
        return number(ns ? Figure(static_cast<double>(*ns) / 1000) : std::nullopt);
    };
    fmt::print("Noise floor: a SCHED_OTHER thread sleeps to absolute times and is late by p50 {} us, p99 {} us; the "
               "spread of CPU ns a packet over the rounds stands beside it (+-%, half the quartiles' distance).\n",
               us(late.quantile(0.5)), us(late.quantile(0.99)));
}

void print_results(const Run &run, const std::vector<Row> &rows)
{
    for (const Environment &environment : environment_table()) {
        if (find_row(rows, run.totals.front().engine->label(), environment.name) == nullptr)
            continue;
        fmt::print("\n== updates {} ==\n\nAs published in 2002: profile ticks, 8 CPUs (?: column not certain)\n\n{}\n",
                   environment.name, document_table(environment.name));
        fmt::print("This run: ticks of {:g} us CPU time for a million packets\n\n{}\n", run.options.sample_us,
                   function_table(run.totals, environment.name));
        fmt::print("CPU nanoseconds a packet; gain: less CPU than base with one lock\n\n{}\n",
                   cost_table(rows, environment.name));
        fmt::print("Callbacks; gp latency: from call_rcu() to the callback's start\n\n{}\n",
                   callback_table(rows, environment.name));
    }
    const Total &first = run.totals.front();
    if (first.profile_source == "signal")
        fmt::print("note: perf_event_open() is refused here: forwarding threads were sampled by timer signals, at the "
                   "kernel's tick at best; the library's threads are counted by their CPU time\n");
    if (first.rounds != 0 && !first.named)
        fmt::print("note: the program was stripped of its symbols: most functions have no name\n");
}

Json arguments(const Run &run)
{
    Json json = common_arguments(run.options.common);
    json["threads"] = run.round.threads;
    json["rounds"] = run.rounds;
    json["measure_ms"] = run.round.measure_ns / 1'000'000;
    json["sample_us"] = run.options.sample_us;
    json["set"] = run.options.set;
    json["prefixes"] = run.inputs.prefixes_label;
    return json;
}

int conclude(const Run &run, bool complete)
{
    std::vector<Row> rows;
    bool broken = false;
    for (const Total &total : run.totals) {
        if (total.rounds != 0)
            rows.push_back(make_row(total));
        if (total.error.empty())
            continue;
        broken = true;
        fmt::print("{} ({}) left out: {}\n", total.engine->label(), total.environment->name, total.error);
    }
    if (rows.empty())
        return complain(broken ? exit_check_failed : exit_usage, "nothing was measured");
    fill_gains(rows);
    print_floor(run);
    print_results(run, rows);
    const bool judge_times = complete && !run.options.common.quick;
    const CheckInput input{rows, judge_times};
    const std::vector<Verdict> bars = judge_bars(input);
    fmt::print("{}\nThe document's conclusions:\n{}", judgement_text(bars, judge_times),
               verdict_text(judge_conclusions(input)));
    Json document = make_document("overhead", run.machine, arguments(run));
    for (const Row &row : rows)
        document["rows"].push_back(to_json(row));
    for (const Total &total : run.totals)
        add_function_rows(total, document["rows"]);
    return finish(run.options.common, document, broken || any_failed(bars) ? exit_check_failed : exit_ok);
}

int run_overhead(const Options &options)
{
    Run run;
    run.options = options;
    run.machine = read_machine();
    std::vector<std::string> notes;
    std::string error;
    if (!prepare(run, notes, error))
        return complain(exit_usage, error);
    plan_time(run);
    print_plan(run, notes);
    catch_interrupt();
    const unsigned rounds = run_rounds(run);
    if (interrupted())
        fmt::print("interrupted: {} of {} rounds were completed\n", rounds, run.rounds);
    return conclude(run, rounds == run.rounds);
}

} // namespace

Registration add_overhead(CLI::App &application)
{
    auto options = std::make_shared<Options>();
    CLI::App *command = application.add_subcommand(
        "overhead", "what engines for finding grace periods cost and save, on a route cache");
    add_common_options(*command, options->common);
    command->add_option("--engine", options->engines, "an engine's label, as in 'poll/global queue'; may be repeated");
    command->add_option("--environment", options->environments, "rare or frequent; default both")
        ->check(CLI::IsMember({"rare", "frequent"}));
    command->add_option("--threads", options->threads, "forwarding threads; default one a CPU")
        ->check(CLI::Range(1, 64));
    command->add_option("--set", options->set, "NAME=VALUE of the library's configuration, for every engine");
    command->add_option("--geoip", options->geoip, "tor geoip file, or 'generated'");
    command->add_option("--sample-us", options->sample_us, "CPU time between samples of the profile")
        ->check(CLI::Range(50.0, 10000.0))
        ->capture_default_str();
    command->add_flag("--signals", options->signals, "sample by timer signals, as where perf_event_open() is refused");
    return {command, [options] { return run_overhead(*options); }};
}

} // namespace lab

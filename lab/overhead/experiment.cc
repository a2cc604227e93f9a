// SPDX-License-Identifier: MIT OR Apache-2.0
// `rtrcu overhead`: the cost and the benefit of engines for grace periods, measured on a route cache.
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command/experiment.h"
#include "machine/shared_value.h"
#include "measure/clock.h"
#include "measure/quantile.h"
#include "overhead/checks.h"
#include "overhead/rows.h"
#include "overhead/tables.h"
#include "workload/inputs.h"

namespace lab
{
namespace overhead
{

constexpr double round_start_s = 0.12; // time for fork, threads, and filling the cache
constexpr double floor_s = 0.5;
constexpr double ending_s = floor_s + 1.5; // time that a quick run needs after its rounds: the floor, tables, results

class Overhead : public Experiment
{
  public:
    void declare(Options &options) override;
    void prepare() override;
    void print_plan() const override;
    bool measure() override;
    bool measured() const override
    {
        return !rows().empty();
    }
    std::vector<std::string> left_out() const override;
    void print_results() override;
    Verdicts judge(bool times) override;
    void fill(Document &document) override;

  private:
    void print_environment(const std::vector<Row> &all, const std::string &name);
    void choose();
    void load();
    void plan_time();
    std::vector<Row> rows() const;
    void run_turn(Total &total, unsigned round);

    std::vector<std::string> engines_, environments_, set_;
    std::string geoip_;
    unsigned threads_ = 0; // 0: one per CPU
    double sample_us_ = 125;
    bool signals_ = false;

    Inputs inputs_;
    std::vector<std::string> notes_;
    RoundOptions round_;
    Rounds rounds_{"measuring"};
    Figure floor_us_p50_, floor_us_p99_;
    std::vector<Total> totals_; // by environment, then by engine in the order of the table
};

void Overhead::declare(Options &options)
{
    options.texts("--engine", engines_, "an engine's label, as in 'poll/global queue'; may be repeated");
    options.texts("--environment", environments_, "updates: rare or frequent; default both", {"rare", "frequent"});
    options.count("--threads", threads_, "forwarding threads; default one per CPU", 1, 64);
    options.texts("--set", set_, "NAME=VALUE, a setting of the library, for every engine");
    options.text("--geoip", geoip_, "tor geoip file, or 'generated'");
    options.number("--sample-us", sample_us_, "CPU time between samples of the profile", 50, 10'000);
    options.flag("--signals", signals_, "sample by timer signals, as if perf_event_open() were refused");
    options.text("--out", out, "directory for overhead.html");
}

void Overhead::prepare()
{
    choose();
    need_two_cpus("on one CPU forwarding threads never run at the same time and share nothing");
    round_.settings = parse_settings(set_);
    load();
    round_.cpus = machine.cpus_allowed;
    round_.threads = threads_ != 0 ? threads_ : static_cast<unsigned>(round_.cpus.size());
    round_.sample_period_ns = static_cast<int64_t>(sample_us_ * 1000);
    round_.allow_perf = !signals_;
    plan_time();
}

void Overhead::choose()
{
    const auto wanted = [](const std::vector<std::string> &chosen, const std::string &name) {
        return chosen.empty() || std::find(chosen.begin(), chosen.end(), name) != chosen.end();
    };
    for (const std::string &label : engines_) {
        if (find_engine(label) != nullptr)
            continue;
        std::vector<std::string> labels;
        for (const EngineRow &row : engine_table())
            labels.push_back(row.label());
        throw Refusal(
            fmt::format("there is no engine '{}'; allowed with --engine: {}", label, fmt::join(labels, ", ")));
    }
    for (const Environment &environment : environment_table())
        for (const EngineRow &engine : engine_table())
            if (wanted(environments_, environment.name) && wanted(engines_, engine.label())) {
                totals_.emplace_back();
                totals_.back().engine = &engine;
                totals_.back().environment = &environment;
            }
}

void Overhead::load()
{
    InputOptions wanted;
    wanted.tree = wanted.loadfile = "generated"; // not used here
    wanted.max_tree_entries = 2;
    wanted.geoip = geoip_;
    wanted.seed = common.seed;
    std::vector<std::string> all;
    std::string error;
    if (!load_inputs(wanted, inputs_, all, error))
        throw Refusal(error);
    notes_.push_back(all.back());
    if (inputs_.prefixes_synthetic)
        notes_.push_back("note: the prefixes are generated; install tor-geoipdb for real ones");
}

void Overhead::plan_time()
{
    const double a_variant_s = (seconds_or(4, 75) - floor_s) / static_cast<double>(totals_.size());
    const double warm_up_s = common.quick ? 0.02 : 0.05;
    // A full run has up to nine rounds; times are judged only with at least five.
    rounds_.planned = common.quick ? 1 : static_cast<unsigned>(std::clamp(a_variant_s / 0.45, 1.0, 9.0));
    rounds_.seconds = seconds_or(0, 75);
    rounds_.seed = common.seed;
    const double measure_s = a_variant_s / rounds_.planned - round_start_s - warm_up_s;
    round_.warm_up_ns = static_cast<int64_t>(warm_up_s * 1e9);
    round_.measure_ns = static_cast<int64_t>(std::max(measure_s, 0.05) * 1e9);
}

void Overhead::print_plan() const
{
    fmt::print("Threads forward packets through a route cache; the destination is random and changes after every 5 "
               "packets.  How much CPU time does RCU save readers, and how much do grace periods cost?\n\n");
    for (const std::string &note : notes_)
        fmt::print("  {}\n", note);
    fmt::print("  {} forwarding threads on CPUs {}, batches of 64 packets, a quiescent state after each\n",
               round_.threads, fmt::join(round_.cpus, " "));
    for (const Environment &environment : environment_table())
        fmt::print("  updates {}: {}\n", environment.name, environment.what);
    fmt::print("  engines:\n");
    for (const Total &total : totals_)
        if (total.environment == totals_.front().environment)
            fmt::print("    {:<28}{}\n", total.engine->label(), total.engine->what);
    fmt::print("  {} variants, {} rounds of {:.2f} s each, a new process for each round; seed {}\n\n", totals_.size(),
               rounds_.planned, static_cast<double>(round_.measure_ns) / 1e9, common.seed);
}

void Overhead::run_turn(Total &total, unsigned round)
{
    SharedValue<RoundResult> result;
    RoundOptions options = round_;
    options.seed = common.seed + round;
    options.end_ns = rounds_.end_ns;
    if (run_round_in_child(*total.engine, total.environment->route, inputs_.prefixes, options, *result, total.error)) {
        total.add(*result);
    } else if (rounds_.end_ns != 0 && now_ns() >= rounds_.end_ns) { // the run's time has ended: not the variant's fault
        total.error.clear();
        rounds_.skipped++;
    }
}

bool Overhead::measure()
{
    std::vector<Turn> turns;
    rounds_.end_ns = end_of_turns_ns(ending_s);
    for (Total &total : totals_)
        turns.push_back({fmt::format("updates {}, {}", total.environment->name, total.engine->label()),
                         static_cast<double>(round_.warm_up_ns + round_.measure_ns) / 1e9 + round_start_s, &total.error,
                         [this, &total](unsigned round) { run_turn(total, round); }});
    const bool complete = play(rounds_, turns);
    const Samples late(timer_floor(machine.cpus_allowed.back(), floor_s, 200'000, 0));
    floor_us_p50_ = scaled(late.quantile(0.5), 1e-3);
    floor_us_p99_ = scaled(late.quantile(0.99), 1e-3);
    if (rounds_.skipped != 0)
        fmt::print("the machine is busy: {} of {} rounds of variants did not fit into the {:g} s of a quick run\n",
                   rounds_.skipped, totals_.size() * rounds_.planned, std::max(quick_limit_s, common.seconds));
    return complete;
}

std::vector<Row> Overhead::rows() const
{
    std::vector<Row> rows;
    for (const Total &total : totals_)
        if (total.rounds != 0) {
            rows.push_back(make_row(total));
            rows.back().floor_us_p50 = floor_us_p50_;
            rows.back().floor_us_p99 = floor_us_p99_;
        }
    fill_gains(rows);
    return rows;
}

void Overhead::print_environment(const std::vector<Row> &all, const std::string &name)
{
    fmt::print("\n== updates {} ==\n\nProfile ticks as published in \"RCU overhead measurements\" (OLS 2002, 8 CPUs), "
               "and this library's ticks under the same names. {}\n\n{}\n",
               name,
               find_row(all, base_counted_chains, name) != nullptr
                   ? "This library's ticks are scaled so that base's look-up has as many ticks as published."
                   : "This run has no base, so this library's ticks are those for a million packets.",
               side_by_side_table(totals_, name));
    fmt::print("This library's functions: ticks of {:g} µs CPU time for a million packets\n\n{}\n", sample_us_,
               function_table(totals_, name));
    fmt::print("CPU nanoseconds per packet; gain: CPU time saved against base with as many forwarding threads\n\n{}\n",
               rows_table(all, name, cost));
    fmt::print("Callbacks; gp latency: from call_rcu() to the callback's start\n\n{}\n",
               rows_table(all, name, callbacks));
}

void Overhead::print_results()
{
    fmt::print("Noise floor: a SCHED_OTHER thread sleeps to absolute times and is late by p50 {} µs, p99 {} µs. "
               "+-%: the spread of the figure on its left over the rounds (half the quartiles' distance). "
               "Verdicts compare two variants round by round: a change is the median of the rounds, with its 95 % "
               "interval in parentheses; if the interval contains \"no change\", the verdict is \"not reproduced\".\n",
               number(floor_us_p50_), number(floor_us_p99_));
    fmt::print("\nFunctions of 2002, and this library's functions counted in their rows. {}\n\n{}",
               published_columns_note(), mapping_text());
    const std::vector<Row> all = rows();
    for (const Environment &environment : environment_table())
        if (std::any_of(all.begin(), all.end(), [&](const Row &row) { return row.environment == environment.name; }))
            print_environment(all, environment.name);
    const Total &first = totals_.front();
    if (first.profile_source == "signal")
        fmt::print(
            "note: perf_event_open() is refused here: timer signals sampled the forwarding threads, at most once "
            "per kernel tick; the library's threads are counted by their CPU time\n");
    if (first.rounds != 0 && !first.named)
        fmt::print("note: the program was stripped of its symbols: most functions have no name\n");
}

std::vector<std::string> Overhead::left_out() const
{
    std::vector<std::string> texts;
    for (const Total &total : totals_)
        if (!total.error.empty())
            texts.push_back(
                fmt::format("{} ({}) left out: {}", total.engine->label(), total.environment->name, total.error));
    return texts;
}

Verdicts Overhead::judge(bool times)
{
    const CheckInput input{rows(), times};
    Verdicts verdicts = judge_bars(input);
    for (const Verdict &verdict : judge_conclusions(input))
        verdicts.push_back(verdict);
    return verdicts;
}

void Overhead::fill(Document &document)
{
    document.argument("threads", round_.threads);
    document.argument("rounds", rounds_.planned);
    document.argument("skipped", rounds_.skipped);
    document.argument("measure_ms", round_.measure_ns / 1'000'000);
    document.argument("sample_us", sample_us_);
    document.argument("set", set_);
    document.argument("prefixes", inputs_.prefixes_label);
    std::map<std::string, std::string> engines; // name of an engine of 2002 -> label of our engine like it
    for (const PublishedEngine &engine : published_engines())
        engines[engine.name] = engine.label;
    document.argument("published_engines", engines);
    document.argument("published_columns", std::string(published_columns_note()));
    document.rows(rows());
    for (const Environment &environment : environment_table()) {
        document.rows(published_rows(environment.name));
        document.rows(counterpart_rows(totals_, environment.name));
    }
    for (const Total &total : totals_)
        document.rows(function_rows(total));
}

} // namespace overhead

Registration add_overhead(CLI::App &application)
{
    return add_experiment<overhead::Overhead>(application, "overhead",
                                              "measure the cost and gain of RCU in a route cache, engine by engine");
}

} // namespace lab

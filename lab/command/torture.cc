// SPDX-License-Identifier: MIT OR Apache-2.0
// `rtrcu torture`: runs scenarios, each in a process of its own, and reports whether the library passed.
#include <rtrcu/rcu.h>

#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <memory>
#include <numeric>
#include <sstream>

#include "command/command.h"
#include "command/options.h"
#include "report/document.h"
#include "torture/process.h"

namespace lab
{
namespace
{

using torture::RunOptions;
using torture::Scenario;

// The standard set takes about ten minutes.
constexpr double standard_seconds = 30, quick_seconds = 2.5, shortest_seconds = 0.5;
constexpr const char *quick_set[] = {"TREE03", "TREE05", "QSBR-MIX", "FLOOD", "BUSTED"};

struct TortureOptions {
    CommonOptions common;
    std::vector<std::string> names;
    std::vector<std::string> files;
    bool all = false;
    bool list = false;
    bool expect_failure = false;
    bool stop_at_first_error = false;
    double patience_s = 20;
    double hours = 0;           // total duration of all runs; 0: each scenario runs for --seconds
    std::string seeds;          // "A..B": a campaign of these seeds
    bool keep_going = false;    // continue after a seed that failed
    int result_descriptor = -1; // the memory for the result, if this process runs one scenario; else -1
};

struct Wanted {
    Scenario scenario;
    std::vector<std::string> arguments; // arguments with which the scenario's process is started
    bool is_control;                    // the scenario belongs to a set and must fail
};

constexpr uint64_t most_seeds = 1000000;

// "A..B", both included.
bool parse_seeds(const std::string &text, uint64_t &first, uint64_t &last)
{
    const char *end = text.data() + text.size();
    const auto [dots, wrong] = std::from_chars(text.data(), end, first);
    if (wrong != std::errc() || end - dots < 3 || dots[0] != '.' || dots[1] != '.')
        return false;
    const auto [rest, also_wrong] = std::from_chars(dots + 2, end, last);
    return also_wrong == std::errc() && rest == end && first <= last && last - first < most_seeds;
}

std::string known_names()
{
    std::vector<std::string> names;
    for (const torture::EmbeddedScenario &embedded : torture::embedded_scenarios())
        names.push_back(embedded.name);
    return fmt::format("{}", fmt::join(names, ", "));
}

bool find_named(const std::string &name, Scenario &scenario, std::string &error)
{
    for (const torture::EmbeddedScenario &embedded : torture::embedded_scenarios())
        if (name == embedded.name)
            return torture::parse_scenario(name, embedded.text, scenario, error);
    error = fmt::format("no scenario is called \"{}\"; allowed: {}", name, known_names());
    return false;
}

bool read_file(const std::string &path, Scenario &scenario, std::string &error)
{
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    if (!file) {
        error = fmt::format("cannot read the scenario file {}", path);
        return false;
    }
    const std::size_t slash = path.rfind('/');
    std::string name = path.substr(slash == std::string::npos ? 0 : slash + 1);
    return torture::parse_scenario(name.substr(0, name.rfind('.')), text.str(), scenario, error);
}

// Chooses the scenarios to run.  In a set, a control passes if it fails; a control that --scenario or --scenario-file
// names is judged like every other scenario.
bool choose(const TortureOptions &options, std::vector<Wanted> &wanted, std::string &error)
{
    std::vector<std::string> names = options.names;
    const bool is_set = names.empty() && options.files.empty();
    if (is_set && options.common.quick && !options.all)
        names.assign(std::begin(quick_set), std::end(quick_set));
    else if (is_set || options.all)
        for (const torture::EmbeddedScenario &embedded : torture::embedded_scenarios())
            names.push_back(embedded.name);
    for (const std::string &name : names) {
        Wanted one{{}, {"--scenario", name}, false};
        if (!find_named(name, one.scenario, error))
            return false;
        one.is_control = (is_set || options.all) && one.scenario.must_fail;
        wanted.push_back(one);
    }
    for (const std::string &path : options.files) {
        Wanted one{{}, {"--scenario-file", path}, false};
        if (!read_file(path, one.scenario, error))
            return false;
        wanted.push_back(one);
    }
    return true;
}

RunOptions run_options(const TortureOptions &options)
{
    RunOptions run;
    run.seed = options.common.seed;
    run.seconds = options.common.seconds > 0 ? options.common.seconds
                  : options.common.quick     ? quick_seconds
                                             : standard_seconds;
    run.patience_s = options.patience_s;
    run.stop_at_first_error = options.stop_at_first_error;
    return run;
}

bool is_good(const Wanted &wanted, const torture::Outcome &outcome)
{
    return outcome.failed() == wanted.is_control || (outcome.skipped && !outcome.failed());
}

std::string verdict(const Wanted &wanted, const torture::Outcome &outcome)
{
    if (outcome.skipped && !outcome.failed())
        return "SKIPPED (see the message)";
    if (wanted.is_control)
        return outcome.failed() ? "SUCCESS (failed, as it must)" : "FAILURE (passed, but must fail)";
    return outcome.failed() ? "FAILURE" : "SUCCESS";
}

struct TortureRow : Fields {
    Text scenario{*this, "scenario", {0, "scenario"}};
    Whole seed{*this, "seed", {0, "seed", "{:.0f}"}};
    Number seconds{*this, "seconds", {0, "s", "{:.1f}"}};
    Whole reads{*this, "reads", {0, "reads"}}, updates{*this, "updates", {0, "updates"}};
    Whole grace_periods{*this, "grace_periods", {0, "grace periods"}}, callbacks{*this, "callbacks", {0, "callbacks"}};
    Whole expedited{*this, "expedited_grace_periods", {0, "expedited"}}, parked{*this, "parked", {0, "parked"}};
    Whole carriers_ended{*this, "carriers_ended", {0, "carriers ended"}}, boosts{*this, "boosts", {0, "boosts"}};
    Counts pipe{*this, "pipe"};
    Whole fresh{*this, nullptr, {0, "age 0"}}, one_old{*this, nullptr, {0, "age 1"}},
        older{*this, nullptr, {0, "older"}};
    Whole near_misses{*this, "near_misses", {0, "near"}}, errors{*this, "errors", {0, "errors"}};
    Text result{*this, "result"}, verdict{*this, nullptr, {0, "result"}};
    Flag must_fail{*this, "must_fail"}, skipped{*this, "skipped"};
    Texts failed_checks{*this, "failed_checks"};
    Number first_error_s{*this, "first_error_s"};
    Whole forks{*this, "forks"}, stalls_reported{*this, "stalls_reported"};
    Whole reconfigurations{*this, "reconfigurations"}, resizes{*this, "resizes"};
};

TortureRow row_of(const Wanted &wanted, const torture::Outcome &outcome)
{
    const auto &totals = outcome.totals;
    TortureRow row;
    row.scenario = outcome.scenario;
    row.seed = outcome.seed;
    row.seconds = outcome.seconds;
    row.reads = totals.reads;
    row.updates = totals.updates;
    row.grace_periods = outcome.grace_periods;
    row.callbacks = outcome.callbacks;
    row.expedited = outcome.expedited_grace_periods;
    row.parked = totals.parks;
    row.carriers_ended = outcome.carriers_ended;
    row.boosts = outcome.boosts;
    row.pipe.assign(totals.pipe.begin(), totals.pipe.end());
    row.fresh = totals.pipe[0];
    row.one_old = totals.pipe[1];
    row.older = std::accumulate(totals.pipe.begin() + 2, totals.pipe.end(), uint64_t{0});
    row.near_misses = totals.near_misses;
    row.errors = totals.errors;
    row.result = is_good(wanted, outcome) ? "SUCCESS" : "FAILURE";
    row.verdict = verdict(wanted, outcome);
    if (!outcome.failed_checks.empty())
        row.verdict += fmt::format(": {}", fmt::join(outcome.failed_checks, " "));
    row.must_fail = wanted.is_control;
    row.skipped = outcome.skipped;
    row.failed_checks = outcome.failed_checks;
    row.first_error_s = outcome.first_error_s;
    row.forks = outcome.forks;
    row.stalls_reported = outcome.stalls;
    row.resizes = outcome.resizes;
    row.reconfigurations = outcome.reconfigurations;
    return row;
}

// The results of all runs so far.
struct Results {
    std::vector<TortureRow> rows;
    std::vector<std::string> replays; // commands that replay the failures
    bool good = true, failed = false, interrupted = false;
};

// Runs every scenario with one seed.
void play_seed(const std::vector<Wanted> &wanted, const RunOptions &run, Progress &progress, Results &results)
{
    for (const Wanted &one : wanted) {
        progress.at(run.seconds * static_cast<double>(results.rows.size()),
                    fmt::format("{} seed {}", one.scenario.name, run.seed));
        const torture::Outcome outcome = torture::run_in_process(one.scenario, one.arguments, run, interrupted);
        if (outcome.interrupted) {
            results.good = false;
            results.interrupted = true;
            return;
        }
        results.failed |= outcome.failed();
        results.rows.push_back(row_of(one, outcome));
        if (!is_good(one, outcome)) {
            results.good = false;
            results.replays.push_back(fmt::format("torture --seed {} --seconds {:.3g} {}", run.seed, run.seconds,
                                                  fmt::join(one.arguments, " ")));
        }
    }
}

int play_all(const TortureOptions &options, const std::vector<Wanted> &wanted)
{
    RunOptions run = run_options(options);
    uint64_t first = run.seed, last = run.seed;
    if (!options.seeds.empty() && !parse_seeds(options.seeds, first, last))
        return complain(exit_usage,
                        fmt::format("--seeds {}: write A..B, where A is not above B, and name up to {} seeds",
                                    options.seeds, most_seeds));
    need_writable(options.common.json);
    const double runs = static_cast<double>(wanted.size()) * static_cast<double>(last - first + 1);
    if (options.hours > 0)
        run.seconds = std::max(shortest_seconds, options.hours * 3600 / runs);
    catch_interrupt();
    const std::string seeds = first == last ? fmt::format("seed {}", first) : fmt::format("seeds {}..{}", first, last);
    fmt::print("Torture: {} scenarios of {:.3g} s each, {} (--seed N replays the random choices).\n", wanted.size(),
               run.seconds, seeds);
    fflush(stdout);
    Results results;
    {
        Progress progress("torture", run.seconds * runs);
        for (uint64_t i = 0; i <= last - first && !results.interrupted && (results.good || options.keep_going); i++) {
            run.seed = first + i;
            play_seed(wanted, run, progress, results);
        }
    }
    fmt::print("{}", table_text(0, results.rows));
    for (const std::string &replay : results.replays)
        fmt::print("Failed; replay with: {}\n", replay);
    if (results.interrupted)
        fmt::print("interrupted: the figures cover only the completed part\n");
    fmt::print("End of test: {}\n", results.interrupted ? "INTERRUPTED" : results.good ? "SUCCESS" : "FAILURE");
    fflush(stdout);
    const bool as_asked = options.expect_failure ? results.failed : results.good;
    Document document("torture", read_machine());
    add_arguments(options.common, document);
    document.argument("seeds", std::vector<uint64_t>{first, last});
    document.rows(results.rows);
    const int code = as_asked ? exit_ok : exit_check_failed;
    return finish(options.common, document, results.interrupted ? exit_interrupted : code);
}

int run(const TortureOptions &options)
{
    std::vector<Wanted> wanted;
    std::string error;
    if (!choose(options, wanted, error))
        return complain(exit_usage, error);
    if (options.list) {
        for (const Wanted &one : wanted)
            fmt::print("{:<12} {}\n", one.scenario.name, one.scenario.what);
        return exit_ok;
    }
    if (options.result_descriptor < 0)
        return play_all(options, wanted);
    torture::SharedMemory memory = torture::SharedMemory::open(options.result_descriptor);
    return torture::play(wanted.front().scenario, run_options(options), memory.result());
}

} // namespace

Registration add_torture(CLI::App &application)
{
    auto options = std::make_shared<TortureOptions>();
    CLI::App *command =
        add_command(application, "torture", "test the library with readers, writers and disturbers", options->common);
    Options add(*command);
    add.describe("--seconds", "duration of each scenario (default: 30)");
    add.number("--hours", options->hours, "total duration of all scenarios and seeds", 0.01, 1000);
    add.either("--hours", "--seconds");
    add.text("--seeds", options->seeds, "run with each of the seeds A..B, and stop after the first seed that fails");
    add.flag("--keep-going", options->keep_going, "continue with the other seeds after one has failed");
    add.texts("--scenario", options->names, "run these scenarios (default: all)");
    add.texts("--scenario-file", options->files, "run scenarios from files");
    add.flag("--all", options->all, "run every scenario, including controls that must fail (the default)");
    add.flag("--list", options->list, "list the scenarios");
    add.number("--patience", options->patience_s, "seconds without progress that count as a hang", 1, 600);
    add.flag("--stop-at-first-error", options->stop_at_first_error, "end a scenario shortly after an error");
    add.flag("--expect-failure", options->expect_failure,
             "exit with 0 if a scenario failed, and with 1 if none failed");
    add.hidden("--result-descriptor", options->result_descriptor);
    return {command, [options] { return run(*options); }};
}

} // namespace lab

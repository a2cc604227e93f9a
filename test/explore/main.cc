// SPDX-License-Identifier: MIT OR Apache-2.0
// rtrcu-explore: runs scenarios over the library's own source under many schedules, and replays one that failed.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <fmt/format.h>

#include "machine/world.h"
#include "report.h"
#include "strategy/strategies.h"
#include "table.h"

namespace scenarios
{
void prepare_domain();
}

extern "C" const bool sim_two_words;

namespace explore
{

namespace
{

struct Request {
    std::vector<std::string> scenarios; // empty: all scenarios
    std::string strategy = "standard", memory = "tso", replay, control;
    uint64_t seed = 1, schedules = 0;
    double seconds = 0;
    int depth = 4, preemptions = 1;
    size_t buffer = sim::Options().buffer_stores;
    bool list = false, no_races = false, expect_failure = false;
};

struct Tally {
    uint64_t schedules = 0, steps = 0, cut = 0, states = 0;
    bool complete = false;
    sim::Outcome failed;
};

sim::Model model_of(const std::string &name)
{
    return name == "sc" ? sim::Model::kSc : name == "tso" ? sim::Model::kTso : sim::Model::kPso;
}

std::unique_ptr<sim::Strategy> strategy_of(const Request &request)
{
    if (request.strategy == "random")
        return make_random(request.seed);
    if (request.strategy == "few")
        return make_few(request.seed);
    if (request.strategy == "pct")
        return make_pct(request.seed, request.depth);
    return make_exhaustive(request.preemptions);
}

Tally explore(sim::World &world, const sim::Scenario &scenario, const Request &request)
{
    Tally tally;
    world.set_buffer(request.buffer);
    auto strategy = strategy_of(request);
    auto began = std::chrono::steady_clock::now();
    auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(); };
    for (;;) {
        sim::Outcome outcome = world.run(scenario, *strategy);
        tally.schedules++;
        tally.steps += outcome.steps;
        tally.cut += outcome.cut;
        if (outcome.failed) {
            tally.failed = std::move(outcome);
            break;
        }
        if (!strategy->end(outcome.steps)) {
            tally.complete = true;
            break;
        }
        if (request.schedules && tally.schedules >= request.schedules)
            break;
        if (request.seconds > 0 && tally.schedules % 16 == 0 && elapsed() > request.seconds)
            break;
    }
    tally.states = distinct_states(*strategy);
    return tally;
}

// Totals of all scenarios, by strategy.
struct Coverage {
    uint64_t scenarios = 0, complete = 0, schedules = 0, steps = 0, states = 0, cut = 0;

    void add(const Tally &tally)
    {
        scenarios++;
        complete += tally.complete;
        schedules += tally.schedules;
        steps += tally.steps;
        states += tally.states;
        cut += tally.cut;
    }
};
std::map<std::string, Coverage> covered;

void print_coverage(const Request &request)
{
    for (const auto &[strategy, sum] : covered) {
        fmt::print("covered by {} with {}: {} scenarios, {} schedules, {} steps", strategy, request.memory,
                   sum.scenarios, sum.schedules, sum.steps);
        if (sum.states)
            fmt::print(", {} states; {} complete with {} preemption{}", sum.states, sum.complete, request.preemptions,
                       request.preemptions == 1 ? "" : "s");
        if (sum.cut)
            fmt::print("; {} schedules ended where they came to a known state", sum.cut);
        fmt::print("\n");
    }
    std::fflush(stdout);
}

std::string coverage(const Tally &tally)
{
    std::string text = fmt::format("{:>8} schedules {:>10} steps", tally.schedules, tally.steps);
    if (tally.states)
        text += fmt::format(" {:>8} states{}", tally.states, tally.complete ? ", complete" : "");
    return text;
}

// Returns 0 if the scenario held, 1 if it failed.
int run_one(const sim::Scenario &scenario, const Request &request)
{
    sim::World &world = *sim::world();
    Tally tally = explore(world, scenario, request);
    covered[request.strategy].add(tally);
    fmt::print("{:<15} {:<4} {:<10} {} {}\n", scenario.name, request.memory, request.strategy, coverage(tally),
               tally.failed.failed ? "FAILED" : "held");
    std::fflush(stdout);
    if (!tally.failed.failed)
        return 0;
    fmt::print("  {}\n  replay: --replay '{}/{}/{}/{}'\n", symbolize(tally.failed.failure), scenario.name,
               request.memory, request.buffer, encode_choices(tally.failed.choices));
    std::fflush(stdout);
    return 1;
}

// Returns a share of @schedules, at least 1.  0 schedules mean no bound, and the result is then 0 too.
uint64_t part_of(uint64_t schedules, double share)
{
    return schedules ? std::max<uint64_t>(1, static_cast<uint64_t>(static_cast<double>(schedules) * share)) : 0;
}

// Every order with few preemptions, then many random orders.
int run_standard(const sim::Scenario &scenario, Request request)
{
    const size_t buffer = request.buffer;
    const struct {
        const char *name;
        double share;
        size_t buffer;
    } strategies[] = {{"exhaustive", 1, 2}, {"random", 1, buffer}, {"few", 1, buffer}, {"pct", 0.5, buffer}};
    int failed = 0;
    Request whole = request;
    for (const auto &strategy : strategies) {
        request.strategy = strategy.name;
        request.seconds = whole.seconds * strategy.share;
        request.schedules = part_of(whole.schedules, strategy.share);
        request.buffer = strategy.buffer;
        failed += run_one(scenario, request);
    }
    return failed;
}

const sim::Scenario *find(const std::string &name)
{
    for (const sim::Scenario *scenario : all_scenarios()) {
        if (name == scenario->name)
            return scenario;
    }
    return nullptr;
}

int refuse(const std::string &message)
{
    fmt::print(stderr, "rtrcu-explore: {}\n", message);
    return 2;
}

int unknown_scenario(const std::string &name)
{
    std::string known;
    for (const sim::Scenario *scenario : all_scenarios())
        known += fmt::format("{}{}", known.empty() ? "" : ", ", scenario->name);
    return refuse(fmt::format("no scenario is called \"{}\"; allowed are {}", name, known));
}

// SCENARIO/MEMORY/BUFFER/CHOICES
int replay(const Request &request)
{
    std::vector<std::string> parts;
    std::string rest = request.replay;
    for (size_t slash; parts.size() < 3 && (slash = rest.find('/')) != std::string::npos; rest = rest.substr(slash + 1))
        parts.push_back(rest.substr(0, slash));
    std::vector<uint8_t> choices;
    if (parts.size() != 3 || !decode_choices(rest, choices) ||
        parts[2].find_first_not_of("0123456789") != std::string::npos)
        return refuse("--replay takes what a failed run printed: SCENARIO/MEMORY/BUFFER/CHOICES");
    const sim::Scenario *scenario = find(parts[0]);
    if (!scenario)
        return unknown_scenario(parts[0]);
    sim::World world({.model = model_of(parts[1]),
                      .buffer_stores = std::stoul(parts[2]),
                      .races = !request.no_races,
                      .trace = true});
    scenarios::prepare_domain();
    auto strategy = make_replay(std::move(choices));
    sim::Outcome outcome = world.run(*scenario, *strategy);
    fmt::print("{}\n", outcome.failed ? "failed: " + symbolize(outcome.failure) : "held");
    return outcome.failed ? 1 : 0;
}

// The path of the explorer for the other layout, which is built beside this program if at all.
std::string sibling()
{
    char path[4096] = "";
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 32);
    std::string other = std::string(path, length > 0 ? static_cast<size_t>(length) : 0) + "-two-words";
    return access(other.c_str(), X_OK) == 0 ? other : "";
}

bool is_wanted(const Request &request, const sim::Scenario &scenario)
{
    const auto &names = request.scenarios;
    return names.empty() || std::find(names.begin(), names.end(), scenario.name) != names.end();
}

int run_scenarios(const Request &request)
{
    int failed = 0;
    for (const sim::Scenario *scenario : all_scenarios()) {
        if (!is_wanted(request, *scenario))
            continue;
        failed += request.strategy == "standard" ? run_standard(*scenario, request) : run_one(*scenario, request);
    }
    print_coverage(request);
    bool whole = request.scenarios.empty() && request.strategy == "standard" && !sim_two_words;
    if (whole && !sibling().empty())
        failed += std::system(fmt::format("'{}' --memory pso --strategy random --seed {} --seconds {} --schedules {}",
                                          sibling(), request.seed, request.seconds / 2, part_of(request.schedules, 0.5))
                                  .c_str()) != 0;
    return failed;
}

// A scenario that a fault makes fail must hold without the fault, in as many schedules.  Otherwise it fails by itself.
bool holds_without_fault(const Request &request)
{
    if (request.control.empty())
        return true;
    uint64_t schedules = covered[request.strategy].schedules;
    fmt::print("{} schedules without the fault: ", schedules);
    std::fflush(stdout);
    return std::system(fmt::format("'{}' --scenario {} --memory {} --strategy {} --seed {} --schedules {} --buffer {} "
                                   "--depth {} --preemptions {}{}",
                                   request.control, fmt::join(request.scenarios, ","), request.memory, request.strategy,
                                   request.seed, schedules, request.buffer, request.depth, request.preemptions,
                                   request.no_races ? " --no-races" : "")
                           .c_str()) == 0;
}

int run(const Request &request, char **argv)
{
    if (request.list) {
        for (const sim::Scenario *scenario : all_scenarios())
            fmt::print("{:<15} {}\n", scenario->name, scenario->what);
        return 0;
    }
    bool weak = request.memory == "pso" || request.replay.find("/pso/") != std::string::npos;
    if (weak && !sim_two_words) {
        if (sibling().empty())
            return refuse(
                "--memory pso is for the reader word of aarch64; this program has that of x86: allowed are sc, tso");
        execv(sibling().c_str(), argv);
    }
    if (!request.replay.empty())
        return replay(request);
    for (const std::string &name : request.scenarios) {
        if (!find(name))
            return unknown_scenario(name);
    }
    sim::World world({.model = model_of(request.memory), .buffer_stores = request.buffer, .races = !request.no_races});
    scenarios::prepare_domain();
    fmt::print("seed {}; memory {} of the explorer's own model\n", request.seed, request.memory);
    int failed = run_scenarios(request);
    if (request.expect_failure)
        return failed && holds_without_fault(request) ? 0 : 1;
    fmt::print("{}\n", failed ? fmt::format("{} runs FAILED", failed) : "every run held");
    return failed ? 1 : 0;
}

} // namespace

} // namespace explore

int main(int argc, char **argv)
{
    explore::Request request;
    CLI::App app("Explore interleavings and weak memory over the library's own source.");
    app.add_option("--scenario", request.scenarios, "these scenarios, with commas between; all by default")
        ->delimiter(',');
    app.add_option("--strategy", request.strategy, "how schedules are chosen; standard: exhaustive, random, few, pct")
        ->check(CLI::IsMember({"standard", "random", "few", "pct", "exhaustive"}));
    app.add_option("--memory", request.memory, "what a store buffer may do")
        ->check(CLI::IsMember({"sc", "tso", "pso"}));
    app.add_option("--seed", request.seed, "of random, few and pct");
    app.add_option("--schedules", request.schedules, "at most so many a scenario and strategy, 0: any number");
    app.add_option("--seconds", request.seconds, "at most so long a scenario and strategy; 1 by default")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--depth", request.depth, "of pct: change points and one")->check(CLI::Range(1, 20));
    app.add_option("--preemptions", request.preemptions, "of exhaustive")->check(CLI::Range(0, 20));
    app.add_option("--buffer", request.buffer, "stores that a buffer holds")->check(CLI::Range(1, 60));
    app.add_option("--replay", request.replay, "the string that a failed run printed; shows every step");
    app.add_flag("--no-races", request.no_races, "do not check plain accesses for data races");
    app.add_flag("--expect-failure", request.expect_failure, "exit 0 if a schedule fails, 1 if none does");
    app.add_option("--control", request.control,
                   "for --expect-failure: this program must hold in the schedules that one of this one's fails in")
        ->check(CLI::ExistingFile);
    app.add_flag("--list", request.list, "the scenarios");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    if (request.seconds == 0 && request.schedules == 0)
        request.seconds = 1;
    return explore::run(request, argv);
}

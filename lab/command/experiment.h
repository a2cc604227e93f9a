// SPDX-License-Identifier: MIT OR Apache-2.0
// The frame of every experiment: options, a plan, rounds of variants in turn, tables, verdicts, the document, the page.
//
// An experiment is a class with its workload, its variants and its rows; run_experiment() does the rest.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "command/command.h"
#include "command/options.h"
#include "machine/machine.h"
#include "report/document.h"
#include "report/verdict.h"

namespace lab
{

// A quick run ends in so many seconds, or in those that --seconds names where these are more.
constexpr double quick_limit_s = 20;

// Why a run would mean nothing, and what to do: exit code 2.
struct Refusal : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Experiment
{
  public:
    CommonOptions common;
    Machine machine;
    std::string out = "out"; // where the page goes; empty: there is none
    int64_t began_ns = 0;

    virtual ~Experiment() = default;
    virtual void declare(Options &options) = 0;
    // Makes the plan; throws a Refusal.
    virtual void prepare() = 0;
    virtual void print_plan() const = 0;
    // False when it was interrupted.
    virtual bool measure() = 0;
    // Was any row measured?  What was left out, and why, is said in any case.
    virtual bool measured() const = 0;
    virtual std::vector<std::string> left_out() const = 0;
    virtual void print_results() = 0;
    // `times`: false in a quick or an interrupted run, which judges counts only.
    virtual std::vector<Verdict> judge(bool times) = 0;
    // Arguments and rows, and what the page draws.
    virtual void fill(Document &document) = 0;

  protected:
    // Refuse where there are fewer CPUs or no real-time permission; `why` says what would be missing.
    void need_two_cpus(const std::string &why) const;
    void need_realtime(const std::string &why) const;
    // When turns must have ended so that a quick run ends in its time; 0: never.  `ending_s`: what it needs after them.
    int64_t end_of_turns_ns(double ending_s) const;
    double seconds_or(double quick, double full) const
    {
        return common.seconds > 0 ? common.seconds : common.quick ? quick : full;
    }
};

// A variant's turn in a round.
struct Turn {
    std::string what;
    double seconds;     // about how long it takes
    std::string *error; // of a variant that failed: it is left out from then on
    std::function<void(unsigned round)> run;
    unsigned every = 1; // takes part in one round out of so many
};

struct Rounds {
    const char *what;
    unsigned planned = 1;
    uint64_t seed = 1;
    double seconds = 0; // a busy machine gets fewer rounds, to stay near this; 0: it gets all
    unsigned done = 0;
    int64_t end_ns = 0;   // no turn begins that would end later; 0: all begin
    unsigned skipped = 0; // turns for which no time was left
};

// Round by round, every variant once, in an order that the seed decides anew each time: what the machine does meanwhile
// falls on all of them.  False when it was interrupted.
bool play(Rounds &rounds, const std::vector<Turn> &turns);
double seconds_of(const Rounds &rounds, const std::vector<Turn> &turns);

// Returns the exit code.
int run_experiment(Experiment &experiment, const char *name);

template <class E> Registration add_experiment(CLI::App &application, const char *name, const char *what)
{
    auto experiment = std::make_shared<E>();
    CLI::App *command = add_command(application, name, what, experiment->common);
    Options options(*command);
    experiment->declare(options);
    return {command, [experiment, name] { return run_experiment(*experiment, name); }};
}

} // namespace lab

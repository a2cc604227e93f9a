// SPDX-License-Identifier: MIT OR Apache-2.0
// The framework of every experiment: options, a plan, variants measured in turn in each round, tables, verdicts, the
// document, the page.
//
// An experiment is a class that provides its workload, variants and rows; run_experiment() does the rest.
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

// Time limit of a quick run, in seconds; a longer --seconds replaces it.
constexpr double quick_limit_s = 20;

// An error whose text is the reason why a run would be meaningless, with advice.  The program then exits with 2.
struct Refusal : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Experiment
{
  public:
    CommonOptions common;
    Machine machine;
    std::string out = "out"; // folder of the page; empty: no page is written
    int64_t began_ns = 0;

    virtual ~Experiment() = default;
    virtual void declare(Options &options) = 0;
    // Makes the plan.  Throws a Refusal if the run would be meaningless.
    virtual void prepare() = 0;
    virtual void print_plan() const = 0;
    // Runs the measurements.  Returns false if Ctrl-C interrupted them.
    virtual bool measure() = 0;
    // Returns true if any row was measured.  Omitted rows and their reasons are printed in any case.
    virtual bool measured() const = 0;
    virtual std::vector<std::string> left_out() const = 0;
    virtual void print_results() = 0;
    // Returns the verdicts.  `times` is false in a quick or an interrupted run, where only counts are judged.
    virtual std::vector<Verdict> judge(bool times) = 0;
    // Adds arguments, rows and the page's curves to the document.
    virtual void fill(Document &document) = 0;

  protected:
    // Throw a Refusal if the process has fewer than two CPUs, or no permission for SCHED_FIFO.  `why`: the reason why
    // the experiment needs them.
    void need_two_cpus(const std::string &why) const;
    void need_realtime(const std::string &why) const;
    // Returns the latest time at which the rounds of a quick run may end; 0: no limit.  `ending_s`: seconds that the
    // run needs after its rounds.
    int64_t end_of_turns_ns(double ending_s) const;
    double seconds_or(double quick, double full) const
    {
        return common.seconds > 0 ? common.seconds : common.quick ? quick : full;
    }
};

// The measurement of one variant in a round.
struct Turn {
    std::string what;
    double seconds;     // its approximate duration
    std::string *error; // set if the variant fails; later rounds skip the variant
    std::function<void(unsigned round)> run;
    unsigned every = 1; // n: the variant takes part in every n-th round
};

struct Rounds {
    const char *what;
    unsigned planned = 1;
    uint64_t seed = 1;
    double seconds = 0; // time limit for all rounds, so that a slow machine runs fewer rounds; 0: no limit
    unsigned done = 0;
    int64_t end_ns = 0;   // a measurement that would end after this time is skipped; 0: no limit
    unsigned skipped = 0; // measurements skipped because of end_ns
};

// Runs the variants in each round, in a new random order per round, so that other activity of the machine affects all
// variants alike.  Returns false if Ctrl-C interrupted the rounds.
bool play(Rounds &rounds, const std::vector<Turn> &turns);
double seconds_of(const Rounds &rounds, const std::vector<Turn> &turns);

// Runs all steps of the experiment.  Returns the exit code.
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

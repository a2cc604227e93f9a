// SPDX-License-Identifier: MIT OR Apache-2.0
// Runs a scenario in a new process with its settings in the environment, and returns the outcome.
#pragma once

#include <string>
#include <vector>

#include "torture/run.h"
#include "torture/scenario.h"
#include "torture/shared.h"

namespace lab::torture
{

struct Outcome {
    std::string scenario;
    uint64_t seed = 0;
    double seconds = 0;
    Totals totals;
    uint64_t grace_periods = 0, callbacks = 0, forks = 0, stalls = 0, reconfigurations = 0;
    uint64_t expedited_grace_periods = 0, boosts = 0, carriers_ended = 0, resizes = 0;
    std::vector<std::string> failed_checks;
    double first_error_s = 0; // seconds from the start of the process to the first error; 0: no error
    bool must_fail = false;
    bool interrupted = false;
    bool skipped = false; // the machine does not permit what the scenario needs

    bool failed() const
    {
        return totals.errors > 0;
    }
};

// `arguments` name the scenario to the new process, which executes this program again: `<program> torture
// <arguments>...`.
Outcome run_in_process(const Scenario &scenario, const std::vector<std::string> &arguments, const RunOptions &options,
                       bool (*interrupted)());

} // namespace lab::torture

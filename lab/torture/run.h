// SPDX-License-Identifier: MIT OR Apache-2.0
// The process of a scenario: runs the scenario, watches it, and checks the state at the end.
#pragma once

#include "torture/scenario.h"
#include "torture/shared.h"

namespace lab::torture
{

struct RunOptions {
    uint64_t seed = 1;
    double seconds = 10;
    double patience_s = 20; // an action that takes longer counts as a hang
    // End the run 0.3 s after the first error, so that other checks can detect the fault too.
    bool stop_at_first_error = false;
};

// Runs a scenario.  Returns 0, or 1 if there was a finding.  Does not return if an actor hangs: the process prints a
// dump and exits.
int play(const Scenario &scenario, const RunOptions &options, SharedResult &shared);

} // namespace lab::torture

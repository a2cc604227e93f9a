// SPDX-License-Identifier: MIT OR Apache-2.0
// A scenario's process: plays the scenario, watches it, and checks what is left at the end.
#pragma once

#include "torture/scenario.h"
#include "torture/shared.h"

namespace lab::torture
{

struct RunOptions {
    uint64_t seed = 1;
    double seconds = 10;
    double patience_s = 20;           // what takes longer is a hang
    bool stop_at_first_error = false; // shortly behind it, to let other checks see it too
};

// Returns 0, or 1 if anything was found.  Does not return when an actor hangs: the process ends after a dump.
int play(const Scenario &scenario, const RunOptions &options, SharedResult &shared);

} // namespace lab::torture

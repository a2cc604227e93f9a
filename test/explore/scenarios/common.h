// SPDX-License-Identifier: MIT OR Apache-2.0
// What the scenarios share: the library's headers, the start of a domain, the table.
#pragma once

extern "C" {
#include "api/api.h"
}

#include "scenario.h"

namespace scenarios
{

// The configuration that makes schedules short: no spinning, no stall reports, small batches.
void configure();
// Register the calling thread (in sim::as_thread()).
void register_reader();
// Is everybody's word, tree and sequence at rest?
void expect_idle();
// The invariants of the rooms' headers that hold between any two steps.
void check_invariants();

} // namespace scenarios

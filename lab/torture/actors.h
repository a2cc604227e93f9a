// SPDX-License-Identifier: MIT OR Apache-2.0
// The kinds of actors of a scenario.  Each function adds its actors to the cast, in the number that the scenario
// states.
#pragma once

#include "torture/context.h"

namespace lab::torture
{

void add_readers(Cast &cast, const Scenario &scenario);       // readers.cc
void add_writers(Cast &cast, const Scenario &scenario);       // writers.cc
void add_cookie_takers(Cast &cast, const Scenario &scenario); // cookies.cc
void add_barriers(Cast &cast, const Scenario &scenario);      // barrier.cc
void add_floods(Cast &cast, const Scenario &scenario);        // flood.cc
void add_litmus(Cast &cast, const Scenario &scenario);        // litmus.cc
void add_churn(Cast &cast, const Scenario &scenario);         // churn.cc
void add_table(Cast &cast, const Scenario &scenario);         // table.cc
void add_disturbers(Cast &cast, const Scenario &scenario);    // disturb.cc
void add_forker(Cast &cast, const Scenario &scenario);        // fork.cc
void add_boost(Cast &cast, const Scenario &scenario);         // boost.cc
void add_tasks(Cast &cast, Context &context);                 // tasks.cc

// Installs the handler of the signals that disturbers send.  The handler does nothing on a thread without a
// ReadsInHandler.
void install_handler();
constexpr int disturbing_signal = 10; // SIGUSR1

// While this object exists, signal handlers on its thread enter sections; if `may_call` is true, they also queue
// callbacks.
class ReadsInHandler
{
  public:
    ReadsInHandler(Actor &actor, bool may_call);
    ~ReadsInHandler();
    ReadsInHandler(const ReadsInHandler &) = delete;
    ReadsInHandler &operator=(const ReadsInHandler &) = delete;
};

// Waits for a grace period by `way`, which must not be a way that uses callbacks, and checks the results of cookies.
void wait_in_way(Actor &actor, Way way);

} // namespace lab::torture

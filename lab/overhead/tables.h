// SPDX-License-Identifier: MIT OR Apache-2.0
// The tables of the overhead experiment: published ticks beside ours, our functions, and the cost of a packet.
#pragma once

#include <string>
#include <vector>

#include "overhead/rows.h"

namespace lab::overhead
{

// Returns a table of the functions of 2002 by engine: the published ticks, then those of our engines with the same
// features, in the same unit. The last row is the sum of look-up and RCU work without `schedule`.
std::string side_by_side_table(const std::vector<Total> &totals, const std::string &environment);
// Returns a text that says which of our functions each row of that table counts.
std::string mapping_text();
// Returns a table of our functions by engine, in ticks for a million packets, because rounds have equal time but not
// equal work.
std::string function_table(const std::vector<Total> &totals, const std::string &environment);
// Returns a table of the CPU time of a packet by kind of work, or of the waits of callbacks and how many waited.
std::string rows_table(const std::vector<Row> &rows, const std::string &environment, int which);

} // namespace lab::overhead

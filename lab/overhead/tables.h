// SPDX-License-Identifier: MIT OR Apache-2.0
// The tables of the overhead experiment: published ticks beside ours, our functions, and the cost of a packet.
#pragma once

#include <string>
#include <vector>

#include "overhead/rows.h"

namespace lab::overhead
{

// Returns a table of the functions of 2002 by engine: the published ticks, then the ticks of our engines with the same
// features, in the same unit.  The last row is the sum of look-up and RCU work without `schedule`.
std::string side_by_side_table(const std::vector<Total> &totals, const std::string &environment);
// Returns a text that names our functions counted in each row of the side-by-side table.
std::string mapping_text();
// Returns a table of our functions by engine, in ticks for a million packets, because rounds have equal time but not
// equal work.
std::string function_table(const std::vector<Total> &totals, const std::string &environment);
// Returns the table `cost` (CPU time per packet by kind of work) or `callbacks` (backlog and waits), as `which`
// selects.
std::string rows_table(const std::vector<Row> &rows, const std::string &environment, int which);

} // namespace lab::overhead

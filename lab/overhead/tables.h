// SPDX-License-Identifier: MIT OR Apache-2.0
// The tables of the overhead experiment: the published ticks beside ours, our functions, and what a packet costs.
#pragma once

#include <string>
#include <vector>

#include "overhead/rows.h"

namespace lab::overhead
{

// Functions of 2002 by engines: the published ticks, then ours of the engines with the same features, in the same unit.
// The last row sums look-up and RCU work without `schedule`.
std::string side_by_side_table(const std::vector<Total> &totals, const std::string &environment);
// Which of our functions stand in the rows of that table.
std::string mapping_text();
// Our functions by engines, ticks a million packets, since rounds are of equal time and not of equal work.
std::string function_table(const std::vector<Total> &totals, const std::string &environment);
// CPU time a packet by kind of work; or how long callbacks waited, and how many.
std::string rows_table(const std::vector<Row> &rows, const std::string &environment, int which);

} // namespace lab::overhead

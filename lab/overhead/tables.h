// SPDX-License-Identifier: MIT OR Apache-2.0
// The profile ticks that were published in 2002, and the tables of this run in the same form.
#pragma once

#include <string>
#include <vector>

#include "overhead/rows.h"

namespace lab::overhead
{

// The table as published, for "rare" or "frequent".
std::string document_table(const std::string &environment);
// Ours: functions by engines, ticks a million packets, since rounds are of equal time and not of equal work.
std::string function_table(const std::vector<Total> &totals, const std::string &environment);
// What a packet cost, by kind of work; or how long callbacks waited, and how many.
std::string rows_table(const std::vector<Row> &rows, const std::string &environment, int which);

} // namespace lab::overhead

// SPDX-License-Identifier: MIT OR Apache-2.0
// What the blocked experiment does, and what came of it.
#pragma once

#include <string>
#include <vector>

#include "blocked/exchange.h"

namespace lab::blocked
{

// Runs of one variant.
struct Cell {
    Lists lists;
    std::vector<RunResult> runs;
    std::string error; // why it was left out from here on
};

struct OrderCell {
    OrderRequest request;
    OrderResult result;
    std::string error;
};

struct CrowdCell {
    CrowdRequest request;
    CrowdResult result;
    std::string error;
};

struct Plan {
    unsigned runs = 0;
    RunRequest request; // of every run, but for lists and seed
    std::vector<Cell> cells;
    std::vector<OrderCell> orders;
    std::vector<CrowdCell> crowds;
};

// `seconds`: about how long the alternating runs may take, 0 = as long as `runs` of the usual length do.
Plan make_plan(unsigned runs, double seconds, const RunRequest &request);
// About how long a run takes, with its beginning and end.
double seconds_a_run(const RunRequest &request);

// The ceiling is measured in every second round only.
unsigned every(Lists lists);
double total_runs(const Plan &plan);

const Cell *find_cell(const Plan &plan, Lists lists);

// The mean length and the wanted share of preemptors, phases, pauses.
RunRequest usual_request();

} // namespace lab::blocked

// SPDX-License-Identifier: MIT OR Apache-2.0
// The plan of the blocked experiment, and its results.
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
    std::string error; // the reason why the variant was left out from then on
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
    RunRequest request; // the request of every run, except lists and seed
    std::vector<Cell> cells;
    std::vector<OrderCell> orders;
    std::vector<CrowdCell> crowds;
};

// Plans the runs.  `seconds`: the approximate time for all runs together; 0: the time that `runs` runs of the usual
// length take.
Plan make_plan(unsigned runs, double seconds, const RunRequest &request);
// Returns the approximate time of a run, including start and end.
double seconds_a_run(const RunRequest &request);

// Returns n if the variant takes part in every n-th round: 2 for `none`, else 1.
unsigned every(Lists lists);
double total_runs(const Plan &plan);

const Cell *find_cell(const Plan &plan, Lists lists);

// The default lengths of bursts, phases and pauses, and the default share of preemptors.
RunRequest usual_request();

} // namespace lab::blocked

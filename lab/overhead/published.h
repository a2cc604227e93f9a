// SPDX-License-Identifier: MIT OR Apache-2.0
// The profile ticks published in "RCU overhead measurements" (OLS 2002), as data, and for each of our functions the
// corresponding function of 2002.
#pragma once

#include <string>
#include <vector>

#include "overhead/symbols.h"
#include "report/row.h"

namespace lab::overhead
{

// A function's ticks in one of the two published tables; a figure is empty if the table has no figure at that place.
struct PublishedRow : Fields {
    Text table{*this, "table"}, environment{*this, "environment"};
    Text function{*this, "function", {0, "function"}};
    Text work{*this, "work"}; // lookup, rcu, schedule
    Count base{*this, "base", {0, "base"}}, ltimer{*this, "rcu_ltimer", {0, "rcu_ltimer"}};
    Count sched{*this, "rcu_sched", {0, "rcu_sched"}}, poll{*this, "rcu_poll", {0, "rcu_poll"}};
};
// Returns the rows of an environment: rare or frequent.
std::vector<PublishedRow> published_rows(const std::string &environment);
// Returns a text that names the figures whose columns are uncertain, because the text of 2002 lost its blank columns.
const char *published_columns_note();

// An engine of 2002, and our engine with the same features.
struct PublishedEngine {
    const char *name;  // base, rcu_ltimer, ...
    const char *label; // the label of our engine
    Count PublishedRow::*ticks;
};
const std::vector<PublishedEngine> &published_engines();
// Returns the sum of look-up and RCU work without `schedule`, on which the conclusions of 2002 are based.
double published_sum(const std::string &environment, const PublishedEngine &engine);

// A step of the measured work.  published_function() names the function that performed it in 2002.
enum class Step {
    none, // work that the published tables do not contain: updates, traffic
    lookup,
    queue,
    collect,
    invoke,
    quiescent,
    check,
    begin,
    end,
    scan,
    ask,
    wake,
    schedule,
    other, // RCU work without a corresponding function
};
Step step_of(const std::string &function, Work work);

// Returns the function of 2002 that did this step; `polls`: its name in the polling engine.  nullptr for Step::none.
const char *published_function(Step step, bool polls);

struct Counterpart {
    const char *function; // a function of 2002
    const char *ours;     // our function that does the same
};
// All functions of both tables in their order, then the work without a corresponding function.
const std::vector<Counterpart> &counterparts();

} // namespace lab::overhead

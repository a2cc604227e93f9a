// SPDX-License-Identifier: MIT OR Apache-2.0
// The profile ticks published in "RCU overhead measurements" (OLS 2002), as data, and the function of 2002 that is the
// counterpart of each of ours.
#pragma once

#include <string>
#include <vector>

#include "overhead/symbols.h"
#include "report/row.h"

namespace lab::overhead
{

// A function's ticks in one of the two tables.  Empty: the table has no figure there.
struct PublishedRow : Fields {
    Text table{*this, "table"}, environment{*this, "environment"};
    Text function{*this, "function", {0, "function"}};
    Text work{*this, "work"}; // lookup, rcu, schedule
    Count base{*this, "base", {0, "base"}}, ltimer{*this, "rcu_ltimer", {0, "rcu_ltimer"}};
    Count sched{*this, "rcu_sched", {0, "rcu_sched"}}, poll{*this, "rcu_poll", {0, "rcu_poll"}};
};
// Environment: rare or frequent.
std::vector<PublishedRow> published_rows(const std::string &environment);
// The text of 2002 has lost its blank columns: one sentence on the figures that it leaves open.
const char *published_columns_note();

// An engine of 2002, and ours that has the same features.
struct PublishedEngine {
    const char *name;  // base, rcu_ltimer, ...
    const char *label; // of ours
    Count PublishedRow::*ticks;
};
const std::vector<PublishedEngine> &published_engines();
// Look-up and RCU work, without `schedule`: the sum on which the conclusions of 2002 rest.
double published_sum(const std::string &environment, const PublishedEngine &engine);

// A step of the work, with its function in 2002.
enum class Step {
    none, // not among the functions of the published tables: updates, traffic
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
    other, // RCU work that has no counterpart
};
Step step_of(const std::string &function, Work work);

// The function of 2002 that did this step; the polling engine had names of its own for some.  nullptr for Step::none.
const char *published_function(Step step, bool polls);

struct Counterpart {
    const char *function; // of 2002
    const char *ours;     // what does the same here
};
// All functions of both tables in their order, then what has no counterpart.
const std::vector<Counterpart> &counterparts();

} // namespace lab::overhead

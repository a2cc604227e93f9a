// SPDX-License-Identifier: MIT OR Apache-2.0
// An updater that interrupts a reader: a signal handler deletes the route that the thread is reading, and passes it to
// call_rcu_rt() or call_rcu_rt_handler() (the reason for rcu_read_lock_bh() in 2004).
//
// The signal is raised at the entry, so that every walk tests this case.  The callback only marks a route; it is freed
// at
// the end. So a walk that finds its entry reclaimed can count this and continue.
#pragma once

#include <string>
#include <vector>

#include "report/row.h"
#include "report/verdict.h"
#include "workload/prefixes.h"

namespace lab::latency
{

struct InterruptingRow : Fields {
    Text reader{*this, "reader", {0, "the walk is in"}};
    Text updater{*this, "updater", {0, "the signal calls"}};
    Text thread{*this, "thread", {0, "thread"}};
    Count walks{*this, "walks", {0, "walks"}};
    Count deleted{*this, "deleted", {0, "deleted"}};
    Count at_once{*this, "callbacks_direct", {0, "run immediately"}};
    Count refused{*this, "direct_refused", {0, "queued"}};
    Count under_reader{*this, "reclaimed_under_reader", {0, "reclaimed during the walk"}};
    Count left{*this, "never_reclaimed"};
};

// Runs each combination in a process of its own and returns its row.  A combination that could not run has no counts,
// and `error` gives the reason.
std::vector<InterruptingRow> run_interrupting(const PrefixTable &prefixes, std::string &error);

Verdicts judge_interrupting(const std::vector<InterruptingRow> &rows);

} // namespace lab::latency

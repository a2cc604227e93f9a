// SPDX-License-Identifier: MIT OR Apache-2.0
// An updater that interrupts a reader: a signal deletes the route that the thread is walking over, and hands it to
// call_rcu_rt() or call_rcu_rt_handler() (2004: the reason for rcu_read_lock_bh()).
//
// The signal is raised at the entry, so that every walk is the case in question.  A route is marked when its callback
// runs, and freed at the end, so that a walk which finds its entry reclaimed counts it and does no harm.
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
    Count at_once{*this, "callbacks_direct", {0, "at once"}};
    Count refused{*this, "direct_refused", {0, "refused"}};
    Count under_reader{*this, "reclaimed_under_reader", {0, "reclaimed under the walk"}};
    Count left{*this, "never_reclaimed"};
};

// One row for each combination, each in a process of its own.  A combination that fails to run has empty counts, and
// `error` says why.
std::vector<InterruptingRow> run_interrupting(const PrefixTable &prefixes, std::string &error);

Verdicts judge_interrupting(const std::vector<InterruptingRow> &rows);

} // namespace lab::latency

// SPDX-License-Identifier: MIT OR Apache-2.0
// The table of policies, and the plan made from it.
#include "latency/plan.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/table.h"

namespace lab::latency
{

const std::vector<PolicyRow> &policy_table()
{
    static const std::vector<PolicyRow> table = {
        {"none", &none_peer, {}, "the floor: nothing is reclaimed while the clock runs"},
        {"unbounded",
         &rtrcu_peer,
         {{"policy", "unbounded"}},
         "the loop runs all ready callbacks without a limit, as Linux 2.6.0 did"},
        {"inline",
         &rtrcu_peer,
         {{"policy", "inline"}},
         "the loop runs callbacks within a budget and up to its next deadline",
         true},
        {"daemon", &rtrcu_peer, {{"policy", "daemon"}}, "one preemptible daemon per CPU runs callbacks", true},
        {"krcud",
         &rtrcu_peer,
         {{"policy", "krcud"}, {"krcud_nice", "-19"}},
         "UseLinux 2004: the loop runs at most bhlimit callbacks, a daemon runs the other callbacks"},
        {"krcud-always",
         &rtrcu_peer,
         {{"policy", "krcud"}, {"krcud_when", "always"}, {"krcud_nice", "-19"}},
         "as krcud, but callbacks after the first bhlimit always go to the daemon, whether real-time work waits or "
         "not"},
        {"krcud-0",
         &rtrcu_peer,
         {{"policy", "krcud"}, {"bhlimit", "0"}, {"krcud_nice", "-19"}},
         "as krcud with bhlimit 0: no daemon, the loop runs all callbacks"},
        // Throttling as proposed in 2004: a limit for each batch, and a pause.  The limit does not rise with the
        // backlog.
        {"throttle",
         &rtrcu_peer,
         {{"policy", "throttle"}, {"maxbatch", "256"}, {"plugticks", "1"}, {"qhimark", "1000000000"}},
         "throttling with 256 in the loop, then a tick of rest; no adaptive limits"},
        {"throttle-16",
         &rtrcu_peer,
         {{"policy", "throttle"}, {"maxbatch", "16"}, {"plugticks", "0"}, {"qhimark", "1000000000"}},
         "UseLinux 2004, as measured there: 16 in the loop, the next ones at its next pass"},
        {"direct",
         &rtrcu_direct_peer,
         {{"policy", "inline"}},
         "UseLinux 2004: callbacks run immediately, while the loop is the only reader; there is no long reader"},
        {"liburcu", &urcu_memb_peer, {}, "liburcu-memb, whose call_rcu thread runs callbacks"},
    };
    return table;
}

const PolicyRow *find_policy(const std::string &name)
{
    for (const PolicyRow &row : policy_table())
        if (name == row.name)
            return &row;
    return nullptr;
}

std::string Variant::label() const
{
    std::string text = fmt::format("{} {}", workload, policy->name);
    if (burst != 0 && burst != flood_burst)
        text += " " + whole(static_cast<double>(burst));
    if (part == Part::table1)
        text += " (one CPU)";
    return fifo ? text : text + " (SCHED_OTHER)";
}

const std::vector<std::string> table1_policies = {"krcud", "direct", "throttle-16", "throttle"};
static const std::vector<std::string> all_workloads = {"dcache", "route", "both", "flood", "console"};

// A workload that runs only if --workload names it, since it takes more than half as long as all others together.
static const char *const named_workload = "fifo";

static constexpr double secondary_weight = 0.25;

static std::vector<std::string> default_policies(const std::string &workload)
{
    if (workload == "flood")
        return {"none",    "unbounded", "inline",   "daemon",      "krcud",  "krcud-always",
                "krcud-0", "direct",    "throttle", "throttle-16", "liburcu"};
    if (workload == "both")
        return {"none", "unbounded", "inline", "daemon"};
    return {"none", "unbounded", "inline", "daemon", "direct", "liburcu"};
}

static bool is_one_of(const std::string &name, const std::vector<std::string> &names)
{
    return std::find(names.begin(), names.end(), name) != names.end();
}

// Returns a variant's share of the measured time, in units of the time for 10,000 samples.  The p99.99 of the deadline
// policy is judged over all workloads, the p99.9 of the cures in the flood; other rows are judged by counts.
static double weight_of(const std::string &workload, const std::string &policy, const PlanOptions &options)
{
    if (!options.judge_tail || !options.policies.empty())
        return 1;
    if (policy == "inline")
        return 2.6;
    if (workload == "flood" && is_one_of(policy, {"none", "unbounded", "daemon", "krcud", "throttle-16", "direct"}))
        return 1;
    return secondary_weight;
}

static bool check_names(const PlanOptions &options, std::string &error)
{
    for (const std::string &name : options.workloads) {
        if (!is_one_of(name, all_workloads) && name != named_workload) {
            error = fmt::format("there is no workload '{}'; allowed: {}, {}", name, fmt::join(all_workloads, ", "),
                                named_workload);
            return false;
        }
    }
    std::vector<std::string> known;
    for (const PolicyRow &row : policy_table())
        known.emplace_back(row.name);
    for (const std::string &name : options.policies) {
        if (find_policy(name) == nullptr) {
            error = fmt::format("there is no policy '{}'; allowed: {}", name, fmt::join(known, ", "));
            return false;
        }
    }
    return true;
}

static void plan_rows(const PlanOptions &options, const std::string &workload, std::vector<Variant> &plan)
{
    std::vector<std::string> policies = options.policies.empty() ? default_policies(workload) : options.policies;
    // Latencies are judged relative to the floor, so it is always measured.
    if (!is_one_of("none", policies))
        policies.insert(policies.begin(), "none");
    for (const std::string &policy : policies) {
        const uint64_t burst = workload == "flood" ? flood_burst : 0;
        plan.push_back({workload, find_policy(policy), burst, options.fifo, weight_of(workload, policy, options)});
        if (workload == "flood" && policy == "unbounded")
            for (const uint64_t smaller : smaller_bursts)
                plan.push_back({workload, find_policy(policy), smaller, options.fifo, secondary_weight});
    }
    if (workload == "dcache" && options.fifo && options.compare_other && options.policies.empty())
        plan.push_back({workload, find_policy("inline"), 0, false, secondary_weight});
}

// Adds the variants of Table 1.  The paper's table is about dbench; the paper also names the route cache as a cause of
// long delays.
static void plan_table1(const PlanOptions &options, const std::string &workload, std::vector<Variant> &plan)
{
    if (!options.policies.empty() || !is_one_of(workload, {"dcache", "route"}))
        return;
    std::vector<std::string> policies = {"none", "unbounded"};
    policies.insert(policies.end(), table1_policies.begin(), table1_policies.end());
    for (const std::string &policy : policies)
        plan.push_back({workload, find_policy(policy), 0, options.fifo, secondary_weight, Part::table1});
}

// Adds the variants of the console.  Its floor has no flood, whose objects policy none would never reclaim.
static void plan_console(const PlanOptions &options, std::vector<Variant> &plan)
{
    std::vector<std::string> policies = options.policies;
    if (policies.empty())
        policies = {"unbounded", "krcud", "direct", "throttle-16", "inline", "daemon", "liburcu"};
    if (!is_one_of("none", policies))
        policies.insert(policies.begin(), "none");
    for (const std::string &policy : policies)
        plan.push_back({"console", find_policy(policy), 0, options.fifo, 0, Part::console});
}

bool wants_fifo(const PlanOptions &options)
{
    return is_one_of(named_workload, options.workloads);
}

// The rows of the workload fifo are fixed.
static bool check_fifo(const PlanOptions &options, std::string &error)
{
    if (!wants_fifo(options))
        return true;
    if (!options.fifo)
        error = "--other does not fit the workload fifo, which measures a SCHED_FIFO thread: leave out one of the two";
    else if (!options.policies.empty())
        error = "--policy does not fit the workload fifo, which compares this library, this library with threads at "
                "ordinary priority, and liburcu: leave out one of the two";
    return error.empty();
}

bool make_plan(const PlanOptions &options, std::vector<Variant> &plan, std::string &error)
{
    if (!check_names(options, error) || !check_fifo(options, error))
        return false;
    plan.clear();
    for (const std::string &workload : all_workloads) {
        const auto &wanted = options.workloads;
        if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), workload) == wanted.end())
            continue;
        if (workload == "console") {
            plan_console(options, plan);
            continue;
        }
        plan_rows(options, workload, plan);
        plan_table1(options, workload, plan);
    }
    return true;
}

} // namespace lab::latency

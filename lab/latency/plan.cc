// SPDX-License-Identifier: MIT OR Apache-2.0
// The table of policies and the plan over it.
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
         "the loop runs all ready callbacks at once, as Linux 2.6.0 did"},
        {"inline",
         &rtrcu_peer,
         {{"policy", "inline"}},
         "the loop runs them within a budget and up to its next deadline"},
        {"daemon", &rtrcu_peer, {{"policy", "daemon"}}, "a preemptible daemon a CPU runs them"},
        {"krcud",
         &rtrcu_peer,
         {{"policy", "krcud"}, {"krcud_when", "always"}},
         "UseLinux 2004: at most bhlimit in the loop, the rest by a daemon"},
        // As proposed: a limit and a rest, and nothing that lifts the limit when the backlog grows.
        {"throttle",
         &rtrcu_peer,
         {{"policy", "throttle"}, {"maxbatch", "256"}, {"plugticks", "1"}, {"qhimark", "1000000000"}},
         "UseLinux 2004: 256 in the loop, then a tick of rest; no adaptive limits"},
        {"direct",
         &rtrcu_direct_peer,
         {{"policy", "inline"}},
         "UseLinux 2004: at once, where the loop is the only reader; no long reader beside it"},
        {"liburcu", &urcu_memb_peer, {}, "liburcu-memb, its call_rcu thread runs them"},
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
    return fifo ? text : text + " (SCHED_OTHER)";
}

static const std::vector<std::string> all_workloads = {"dcache", "route", "flood"};

static std::vector<std::string> default_policies(const std::string &workload)
{
    if (workload == "flood")
        return {"none", "unbounded", "inline", "daemon", "krcud", "throttle", "direct", "liburcu"};
    return {"none", "unbounded", "inline", "daemon", "liburcu"};
}

// The p99.99 of the deadline policy is judged, and that needs many samples.
static double weight_of(const std::string &policy, const PlanOptions &options)
{
    return policy == "inline" && options.judge_tail ? 3.5 : 1;
}

static bool check_names(const PlanOptions &options, std::string &error)
{
    for (const std::string &name : options.workloads) {
        if (std::find(all_workloads.begin(), all_workloads.end(), name) == all_workloads.end()) {
            error = fmt::format("there is no workload '{}'; allowed: {}", name, fmt::join(all_workloads, ", "));
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

bool make_plan(const PlanOptions &options, std::vector<Variant> &plan, std::string &error)
{
    if (!check_names(options, error))
        return false;
    plan.clear();
    for (const std::string &workload : all_workloads) {
        const auto &wanted = options.workloads;
        if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), workload) == wanted.end())
            continue;
        std::vector<std::string> policies = options.policies.empty() ? default_policies(workload) : options.policies;
        // Without the floor no latency means anything.
        if (std::find(policies.begin(), policies.end(), "none") == policies.end())
            policies.insert(policies.begin(), "none");
        for (const std::string &policy : policies) {
            uint64_t burst = workload == "flood" ? flood_burst : 0;
            plan.push_back({workload, find_policy(policy), burst, options.fifo, weight_of(policy, options)});
            if (workload == "flood" && policy == "unbounded")
                for (uint64_t smaller : smaller_bursts)
                    plan.push_back({workload, find_policy(policy), smaller, options.fifo, 0.5});
        }
        if (workload == "dcache" && options.fifo && options.compare_other && options.policies.empty())
            plan.push_back({workload, find_policy("inline"), 0, false, 0.5});
    }
    return true;
}

} // namespace lab::latency

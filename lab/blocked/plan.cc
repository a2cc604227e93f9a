// SPDX-License-Identifier: MIT OR Apache-2.0
// The variants of the experiment, and the duration of each phase.
#include "blocked/plan.h"

#include <algorithm>

namespace lab::blocked
{
namespace
{

constexpr double start_and_end_s = 0.06;
constexpr double shortest = 0.25; // length of the shortest phases, as a fraction of the usual length

double phases_s(const RunRequest &request)
{
    return static_cast<double>(request.throughput_ns + request.metered_ns + request.without_gp_ns +
                               request.undisturbed_ns) /
           1e9;
}

void scale(RunRequest &request, double factor)
{
    for (int64_t *phase :
         {&request.throughput_ns, &request.metered_ns, &request.without_gp_ns, &request.undisturbed_ns})
        *phase = static_cast<int64_t>(static_cast<double>(*phase) * factor);
}

} // namespace

RunRequest usual_request()
{
    RunRequest request;
    request.burst_ns = 1'000'000;
    request.preempted_share = 0.6;
    request.gp_pause_ns = 10'000'000;
    request.throughput_ns = 280'000'000;
    request.metered_ns = 70'000'000;
    request.without_gp_ns = 40'000'000;
    request.undisturbed_ns = 20'000'000;
    return request;
}

double seconds_a_run(const RunRequest &request)
{
    return phases_s(request) + start_and_end_s;
}

Plan make_plan(unsigned runs, double seconds, const RunRequest &request)
{
    Plan plan;
    plan.runs = runs;
    plan.request = request;
    for (Lists lists : {Lists::node_spin, Lists::percpu_spin, Lists::node, Lists::percpu, Lists::none})
        plan.cells.push_back({lists, {}, {}});
    const double each_s = seconds / total_runs(plan) - start_and_end_s;
    if (seconds > 0)
        scale(plan.request, std::max(each_s / phases_s(request), shortest));
    for (Lists lists : {Lists::node_spin, Lists::percpu_spin, Lists::node, Lists::percpu}) {
        constexpr unsigned rounds = 200, tasks = 16;
        plan.orders.push_back({{lists, rounds, tasks, tasks, request.seed}, {}, {}});
    }
    for (Lists lists : {Lists::node, Lists::percpu})
        for (uint64_t tasks : {10, 1'000, 100'000})
            plan.crowds.push_back({{lists, tasks}, {}, {}});
    return plan;
}

unsigned every(Lists lists)
{
    return lists == Lists::none ? 2 : 1;
}

double total_runs(const Plan &plan)
{
    double total = 0;
    for (const Cell &cell : plan.cells)
        total += (plan.runs + every(cell.lists) - 1) / every(cell.lists);
    return total;
}

const Cell *find_cell(const Plan &plan, Lists lists)
{
    for (const Cell &cell : plan.cells)
        if (cell.lists == lists)
            return &cell;
    return nullptr;
}

} // namespace lab::blocked

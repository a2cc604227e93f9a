// SPDX-License-Identifier: MIT OR Apache-2.0
// The blocked experiment's verdicts.
#include "blocked/checks.h"

#include <fmt/format.h>

#include "blocked/rows.h"
#include "report/table.h"

namespace lab::blocked
{
namespace
{

constexpr double gain_bar_pct = 46;
constexpr double acquisitions_bar = 0.01;
constexpr double share_of_spin = 0.01;
constexpr double bytes_bar = 128;
constexpr double preempted_hold_factor = 100;
constexpr double promotion_allowance = 1.25, allowance_us = 100;

std::string pct(const Figure &value, const char *format = "{:+.1f} %")
{
    return value ? fmt::format(fmt::runtime(format), *value) : "-";
}

void judge_throughput(const ListsRow &spin, const ListsRow &node, const ListsRow &percpu, bool times, Verdicts &all)
{
    const Figure gain = diff_pct(spin.iterations_per_s_mean, percpu.iterations_per_s_mean);
    all.push_back({judged(times && gain, gain.value_or(0) >= gain_bar_pct, Outcome::failed),
                   "under preemption, percpu has at least 46 % more iterations a second than node-spin",
                   fmt::format("{} against {}: {}; over node {}", number(percpu.iterations_per_s_mean),
                               number(spin.iterations_per_s_mean), pct(gain),
                               pct(diff_pct(node.iterations_per_s_mean, percpu.iterations_per_s_mean)))});
}

void judge_lock(const ListsRow &spin, const ListsRow &percpu, bool times, Verdicts &all)
{
    const Figure each = percpu.lock_acquisitions_per_iteration;
    all.push_back({judged(each.has_value(), each.value_or(1) <= acquisitions_bar, Outcome::failed),
                   "percpu: at most 0.01 acquisitions of the node's lock an iteration while no grace period waits",
                   fmt::format("{:.5f}; with grace periods {:.5f}", each.value_or(-1),
                               percpu.lock_acquisitions_per_iteration_with_gp.value_or(-1))});
    const Figure ours = percpu.reader_lock_pct_without_gp, theirs = spin.reader_lock_pct_without_gp;
    all.push_back(
        {judged(times && ours && theirs, ours.value_or(1) <= theirs.value_or(0) * share_of_spin, Outcome::failed),
         "under preemption, while no grace period waits, percpu's readers hold the node's lock or wait for "
         "it for at most a hundredth of node-spin's time",
         fmt::format("{} of the carriers' time against {}; with grace periods {} against {}", pct(ours, "{:.4f} %"),
                     pct(theirs, "{:.2f} %"), pct(percpu.reader_lock_pct, "{:.2f} %"),
                     pct(spin.reader_lock_pct, "{:.2f} %"))});
    const Figure longest = spin.lock_hold_us_max, usual = spin.unpreempted_hold_us_mean;
    all.push_back({judged(times && longest && usual, longest.value_or(0) >= usual.value_or(0) * preempted_hold_factor,
                          Outcome::not_reproduced),
                   "node-spin: a holder that is preempted keeps the lock at least 100 times as long as usual (RFC "
                   "2026: 1,000 times)",
                   fmt::format("longest {} µs, mean without preemption {} µs", number(longest), number(usual))});
}

void judge_order(const Plan &plan, Verdicts &all)
{
    for (const OrderCell &cell : plan.orders) {
        const OrderResult &result = cell.result;
        const std::string name = name_of(cell.request.lists);
        const bool any = result.rounds != 0;
        all.push_back(
            {judged(any, result.ended_early + result.not_ended + result.older_not_waited == 0, Outcome::failed),
             fmt::format("{}: a grace period ends when the tasks whose sections began before it have "
                         "unlocked: no sooner, and later ones, parked still, do not keep it",
                         name),
             fmt::format("{} rounds with {} older and {} later tasks: {} ended early, {} did not end, {} "
                         "older tasks not waited for",
                         result.rounds, cell.request.older, cell.request.later, result.ended_early, result.not_ended,
                         result.older_not_waited)});
        all.push_back({judged(any, result.later_waited_for == 0, Outcome::failed),
                       fmt::format("{}: no task whose section began later is waited for", name),
                       fmt::format("{} of {}", result.later_waited_for, result.rounds * cell.request.later)});
    }
}

const CrowdCell *find_crowd(const Plan &plan, uint64_t tasks)
{
    for (const CrowdCell &cell : plan.crowds)
        if (cell.request.lists == Lists::percpu && cell.request.tasks == tasks && cell.result.bytes_each != 0)
            return &cell;
    return nullptr;
}

void judge_crowd(const Plan &plan, bool times, Verdicts &all)
{
    const CrowdCell *few = find_crowd(plan, 10), *many = find_crowd(plan, 100'000);
    if (few == nullptr || many == nullptr)
        return;
    const CrowdResult &result = many->result;
    all.push_back({judged(true, result.bytes_each <= bytes_bar, Outcome::failed),
                   "100,000 parked readers cost at most 128 bytes each", fmt::format("{:.1f}", result.bytes_each)});
    if (result.promotions == 0)
        return;
    const double each_ns = result.promotion_ns / static_cast<double>(result.promotions);
    const double promotion_us = each_ns * static_cast<double>(many->request.tasks) / 1e3;
    const double slower_us = (result.begin_ns + result.end_ns - few->result.begin_ns - few->result.end_ns) / 1e3;
    all.push_back({judged(times, slower_us <= promotion_us * promotion_allowance + allowance_us, Outcome::failed),
                   "100,000 parked readers slow the finding of a grace period's end by their promotion alone",
                   fmt::format("{} µs more than with 10; promotion {:.1f} ns each, {} µs in all", number(slower_us),
                               each_ns, number(promotion_us))});
}

void judge_counts(const Plan &plan, const std::vector<ListsRow> &rows, Verdicts &all)
{
    double errors = 0, grace_periods = 0;
    std::size_t missing = 0;
    for (const ListsRow &row : rows) {
        errors += *row.errors;
        grace_periods += *row.grace_periods;
    }
    for (const Cell &cell : plan.cells)
        missing += !cell.error.empty();
    all.push_back({judged(grace_periods != 0, errors == 0, Outcome::failed),
                   "no reader saw a record after the grace period that retired it",
                   fmt::format("{} errors over {} grace periods", whole(errors), whole(grace_periods))});
    all.push_back({judged(true, missing == 0, Outcome::failed), "no run of any variant was cut short",
                   fmt::format("{} of {} variants", plan.cells.size() - missing, plan.cells.size())});
}

} // namespace

Verdicts judge(const Plan &plan, bool judge_times)
{
    Verdicts verdicts;
    const std::vector<ListsRow> rows = lists_rows(plan);
    const ListsRow *spin = find_row(rows, Lists::node_spin), *node = find_row(rows, Lists::node),
                   *percpu = find_row(rows, Lists::percpu);
    if (spin != nullptr && node != nullptr && percpu != nullptr) {
        judge_throughput(*spin, *node, *percpu, judge_times, verdicts);
        judge_lock(*spin, *percpu, judge_times, verdicts);
    }
    judge_order(plan, verdicts);
    judge_crowd(plan, judge_times, verdicts);
    judge_counts(plan, rows, verdicts);
    return verdicts;
}

} // namespace lab::blocked

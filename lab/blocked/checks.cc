// SPDX-License-Identifier: MIT OR Apache-2.0
// The blocked experiment's verdicts.
#include "blocked/checks.h"

#include <algorithm>
#include <fmt/format.h>

#include "blocked/rows.h"
#include "report/interval.h"
#include "report/table.h"

namespace lab::blocked
{
namespace
{

constexpr double gain_bar_pct = 46;
constexpr double rate_kept = 0.9;  // lowest rate of iterations, as a share of the rate with spinning locks
constexpr double hold_share = 0.1; // longest hold time, as a share of the hold time before the change
constexpr double acquisitions_bar = 0.01;
constexpr double share_of_spin = 0.01;
constexpr double bytes_bar = 128;
constexpr double preempted_hold_factor = 100;
constexpr double promotion_allowance = 1.25, allowance_us = 100;

std::string pct(const Figure &value, const char *format = "{:+.1f} %")
{
    return value ? fmt::format(fmt::runtime(format), *value) : "-";
}

// The rows of two variants, and the ratio of their rates in each round.
struct Pair {
    const Cell &before, &after;
    const ListsRow &before_row, &after_row;
    std::optional<Interval> gain; // the rate of `after` divided by the rate of `before`, within each round

    Pair(const Plan &plan, const std::vector<ListsRow> &rows, Lists first, Lists second, bool times)
        : before(*find_cell(plan, first)), after(*find_cell(plan, second)), before_row(*find_row(rows, first)),
          after_row(*find_row(rows, second)),
          gain(times ? ratio_interval(iterations_per_s(after), iterations_per_s(before)) : std::nullopt)
    {
    }
    std::size_t rounds() const
    {
        return std::min(before.runs.size(), after.runs.size());
    }
    std::string text() const
    {
        return fmt::format("{} against {}: {}; round by round {}", number(after_row.iterations_per_s_mean),
                           number(before_row.iterations_per_s_mean),
                           pct(diff_pct(before_row.iterations_per_s_mean, after_row.iterations_per_s_mean)),
                           spread_text(gain, fmt::format("times, {} rounds", rounds()), rounds()));
    }
};

// Judges a gain against the bar.  An interval that contains 1 is "not reproduced", an interval that contains the bar
// "not judged".
void judge_gain(const Pair &pair, const std::string &claim, Outcome otherwise, Verdicts &all)
{
    Outcome outcome = Outcome::not_judged;
    if (pair.gain)
        outcome =
            pair.gain->covers(1) ? Outcome::not_reproduced : judge_least(*pair.gain, 1 + gain_bar_pct / 100, otherwise);
    all.push_back({outcome, claim, pair.text()});
}

void judge_throughput(const Plan &plan, const std::vector<ListsRow> &rows, bool times, Verdicts &all)
{
    judge_gain(Pair(plan, rows, Lists::node_spin, Lists::percpu_spin, times),
               "the document's +46 %: under preemption, percpu-spin has at least 46 % more iterations per second than "
               "node-spin",
               Outcome::not_reproduced, all);
    judge_gain(Pair(plan, rows, Lists::node_spin, Lists::percpu, times),
               "under preemption, percpu has at least 46 % more iterations per second than node-spin", Outcome::failed,
               all);
    const Pair inheriting(plan, rows, Lists::percpu_spin, Lists::percpu, times);
    all.push_back({inheriting.gain ? judge_least(*inheriting.gain, rate_kept) : Outcome::not_judged,
                   "under preemption, percpu keeps at least 90 % of percpu-spin's iterations per second",
                   inheriting.text()});
}

void judge_acquisitions(const ListsRow &row, Outcome otherwise, Verdicts &all)
{
    const Figure each = row.lock_acquisitions_per_iteration;
    all.push_back(
        {judged(each.has_value(), each.value_or(1) <= acquisitions_bar, otherwise),
         fmt::format("{}: at most 0.01 acquisitions of the node's lock per iteration while no grace period waits",
                     row.lists),
         fmt::format("{:.5f}; with grace periods {:.5f}", each.value_or(-1),
                     row.lock_acquisitions_per_iteration_with_gp.value_or(-1))});
}

// Judges two hold times of the node's lock: the time per iteration, and the mean per acquisition, which is the
// document's figure.
void judge_hold(const Plan &plan, const std::vector<ListsRow> &rows, Lists lists, bool times, Verdicts &all)
{
    const Pair pair(plan, rows, Lists::node_spin, lists, times);
    const ListsRow &before = pair.before_row, &after = pair.after_row;
    const auto judged_share = [](const std::optional<Interval> &share, Outcome otherwise) {
        return share ? judge_most(*share, hold_share, otherwise) : Outcome::not_judged;
    };
    const auto iteration =
        !times ? std::nullopt : sums_interval(hold_ns_and_iterations(pair.after), hold_ns_and_iterations(pair.before));
    all.push_back(
        {judged_share(iteration, lists == Lists::percpu ? Outcome::failed : Outcome::not_reproduced),
         fmt::format("under preemption, with grace periods, an iteration of {} holds the node's lock for a tenth "
                     "of node-spin's time or less",
                     after.lists),
         fmt::format("{} ns against {} ns, {}", number(after.lock_hold_ns_per_iteration),
                     number(before.lock_hold_ns_per_iteration), spread_text(iteration, "times", pair.rounds()))});
    const auto mean = !times
                          ? std::nullopt
                          : sums_interval(hold_ns_and_acquisitions(pair.after), hold_ns_and_acquisitions(pair.before));
    all.push_back(
        {judged_share(mean, Outcome::not_reproduced),
         fmt::format("the document's 1,069 -> about 0 µs: the mean hold time per acquisition of {} is a tenth of "
                     "node-spin's or less",
                     after.lists),
         fmt::format("{} µs against {} µs, {}. {}", number(after.lock_hold_us_mean), number(before.lock_hold_us_mean),
                     spread_text(mean, "times", pair.rounds()), why_mean_hold_rises(before, after))});
}

void judge_lock(const Plan &plan, const ListsRow &spin, const ListsRow &percpu, bool times, Verdicts &all)
{
    const Cell &before = *find_cell(plan, Lists::node_spin), &after = *find_cell(plan, Lists::percpu);
    const std::size_t rounds = std::min(before.runs.size(), after.runs.size());
    const auto share = times ? sums_interval(lock_ns_and_seconds(after), lock_ns_and_seconds(before)) : std::nullopt;
    const Figure ours = percpu.reader_lock_pct_without_gp, theirs = spin.reader_lock_pct_without_gp;
    all.push_back({share ? judge_most(*share, share_of_spin) : Outcome::not_judged,
                   "under preemption, while no grace period waits, percpu's readers hold the node's lock or wait for "
                   "it for at most a hundredth of node-spin's time",
                   fmt::format("{} of the carriers' time against {}, {}; with grace periods {} against {}",
                               pct(ours, "{:.4f} %"), pct(theirs, "{:.2f} %"), spread_text(share, "times", rounds),
                               pct(percpu.reader_lock_pct, "{:.2f} %"), pct(spin.reader_lock_pct, "{:.2f} %"))});
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
                         "unlocked: no sooner, and not later because of tasks that parked after its beginning",
                         name),
             fmt::format("{} rounds with {} older and {} later tasks: {} ended early, {} did not end, {} "
                         "older tasks not waited for",
                         result.rounds, cell.request.older, cell.request.later, result.ended_early, result.not_ended,
                         result.older_not_waited)});
        all.push_back({judged(any, result.later_waited_for == 0, Outcome::failed),
                       fmt::format("{}: no grace period waits for a task whose section began later", name),
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
    const double spread_us = (result.spread_ns + few->result.spread_ns) / 1e3;
    const double bar_us = promotion_us * promotion_allowance + allowance_us;
    const bool holds = slower_us <= bar_us, fails = slower_us - spread_us > bar_us;
    all.push_back({judged(times && (holds || fails), holds, Outcome::failed),
                   "100,000 parked readers delay the begin and the end of a grace period by little more than the time "
                   "of their promotion",
                   fmt::format("{} µs more than with 10 (spread {} µs); promotion {:.1f} ns each, {} µs in all",
                               number(slower_us), number(spread_us), each_ns, number(promotion_us))});
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
                   "no reader saw a record after the grace period that followed its removal",
                   fmt::format("{} errors over {} grace periods", whole(errors), whole(grace_periods))});
    all.push_back({judged(true, missing == 0, Outcome::failed), "no run of any variant was cut short",
                   fmt::format("{} of {} variants", plan.cells.size() - missing, plan.cells.size())});
}

} // namespace

Verdicts judge(const Plan &plan, bool judge_times)
{
    Verdicts verdicts;
    const std::vector<ListsRow> rows = lists_rows(plan);
    const ListsRow *spin = find_row(rows, Lists::node_spin), *percpu_spin = find_row(rows, Lists::percpu_spin),
                   *percpu = find_row(rows, Lists::percpu);
    if (spin != nullptr && percpu_spin != nullptr && percpu != nullptr) {
        judge_throughput(plan, rows, judge_times, verdicts);
        judge_acquisitions(*percpu, Outcome::failed, verdicts);
        judge_acquisitions(*percpu_spin, Outcome::not_reproduced, verdicts);
        for (Lists lists : {Lists::percpu_spin, Lists::percpu})
            judge_hold(plan, rows, lists, judge_times, verdicts);
        judge_lock(plan, *spin, *percpu, judge_times, verdicts);
    }
    judge_order(plan, verdicts);
    judge_crowd(plan, judge_times, verdicts);
    judge_counts(plan, rows, verdicts);
    return verdicts;
}

} // namespace lab::blocked

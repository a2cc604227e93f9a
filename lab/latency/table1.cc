// SPDX-License-Identifier: MIT OR Apache-2.0
// Rows and verdicts of Table 1.
#include "latency/table1.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

#include "measure/quantile.h"
#include "report/interval.h"

namespace lab::latency
{
namespace
{

// Returns the paper's figure for a policy, if any: it gives one for dbench, and "near 400" for two of the cures.
Figure document_figure(const std::string &workload, const std::string &policy)
{
    static const std::map<std::string, double> dbench = {
        {"unbounded", 711}, {"throttle-16", 439}, {"krcud", 413}, {"direct", 413}};
    const auto found = dbench.find(policy);
    return workload == "dcache" && found != dbench.end() ? Figure(found->second) : std::nullopt;
}

// The cures that the paper measured.
const std::vector<std::string> cures = {"krcud", "direct", "throttle-16"};

const Table1Row *find(const std::vector<Table1Row> &rows, const std::string &workload, const std::string &policy)
{
    for (const Table1Row &row : rows)
        if (row.workload == workload && row.policy == policy)
            return &row;
    return nullptr;
}

std::vector<const Table1Row *> find_cures(const std::vector<Table1Row> &rows, const std::string &workload)
{
    std::vector<const Table1Row *> found;
    for (const std::string &cure : cures)
        if (const Table1Row *row = find(rows, workload, cure))
            found.push_back(row);
    return found;
}

using Each = std::vector<double> Table1Row::*;

// Returns the confidence level of each comparison, so that all comparisons together have an error of 5 %.
double level_for(std::size_t comparisons)
{
    return 1 - 0.05 / static_cast<double>(std::max<std::size_t>(comparisons, 1));
}

std::string too_few(const Table1Row &row)
{
    return too_few_rounds(row.each_late_us.size());
}

// Judges whether the stock policy exceeds each cure by more than the spread.
Verdict judge_stock(const Table1Row &stock, const std::vector<const Table1Row *> &found, Each each,
                    const std::string &what, bool judge_times)
{
    const std::string claim =
        fmt::format("Table 1, {}: {} of stock (unbounded) exceeds that of each cure", stock.workload, what);
    std::vector<std::string> texts;
    bool all = true;
    for (const Table1Row *cure : found) {
        const auto more = difference_interval(stock.*each, cure->*each, level_for(found.size()));
        if (!more)
            return {Outcome::not_judged, claim, too_few(*cure)};
        all = all && more->low > 0;
        texts.push_back(fmt::format("{} by {}", cure->policy, interval_text(more)));
    }
    return {judged(judge_times, all, Outcome::not_reproduced), claim,
            fmt::format("µs in the same round: {}", fmt::join(texts, "; "))};
}

// Judges the paper's statement that the differences between the cures are not statistically significant.
Verdict judge_cures(const std::vector<const Table1Row *> &found, const std::string &workload, bool judge_times)
{
    const std::string claim =
        fmt::format("Table 1, {}: the differences between the cures are not statistically significant (5 %)", workload);
    const std::size_t pairs = found.size() * (found.size() - 1) / 2;
    std::vector<std::string> texts;
    bool all = true;
    for (std::size_t i = 0; i < found.size(); i++) {
        for (std::size_t j = i + 1; j < found.size(); j++) {
            const auto more = difference_interval(found[i]->each_late_us, found[j]->each_late_us, level_for(pairs));
            if (!more)
                return {Outcome::not_judged, claim, too_few(*found[j])};
            all = all && more->covers(0);
            texts.push_back(fmt::format("{} - {} {}", found[i]->policy, found[j]->policy, interval_text(more)));
        }
    }
    return {judged(judge_times, all, Outcome::not_reproduced), claim,
            fmt::format("µs: {}; 2004: direct somewhat better than the other two", fmt::join(texts, "; "))};
}

Verdict judge_goal(const std::vector<const Table1Row *> &found, const std::string &workload, bool judge_times)
{
    const std::string claim = fmt::format("Table 1, {}: each cure meets the goal of {:g} µs, which no cure met in 2004",
                                          workload, table1_goal_us);
    std::vector<std::string> texts;
    Outcome worst = Outcome::held;
    for (const Table1Row *cure : found) {
        const auto late = median_interval(cure->each_late_us);
        if (!late)
            return {Outcome::not_judged, claim, too_few(*cure)};
        const Outcome outcome = judge_most(*late, table1_goal_us, Outcome::not_reproduced);
        if (worst == Outcome::held || outcome == Outcome::not_reproduced)
            worst = outcome;
        texts.push_back(fmt::format("{} {}", cure->policy, interval_text(late)));
    }
    return {judge_times ? worst : Outcome::not_judged, claim, fmt::format("µs: {}", fmt::join(texts, "; "))};
}

} // namespace

Table1Row make_table1_row(const Variant &variant, const VariantRecord &record)
{
    Table1Row row;
    row.label = variant.workload + " " + variant.policy->name;
    row.workload = variant.workload;
    row.policy = variant.policy->name;
    row.document_us = document_figure(row.workload, row.policy);
    std::size_t sample = 0;
    double largest = 0;
    for (std::size_t i = 0; i < record.rounds.count(); i++) {
        uint32_t late = 0, share = 0;
        for (; sample < record.rounds[i].samples_end; sample++) {
            late = std::max(late, record.loop[sample].late_ns);
            share = std::max(share, record.loop[sample].share_ns);
        }
        row.each_late_us.push_back(late / 1000.0);
        row.each_share_us.push_back(share / 1000.0);
        largest = std::max(largest, late / 1000.0);
    }
    const Totals &sum = record.sum();
    row.late_us_max = largest;
    row.samples = static_cast<double>(record.loop.count());
    row.rounds = static_cast<double>(record.rounds.count());
    if (variant.policy->peer != &none_peer)
        row.backlog_max = static_cast<double>(sum.backlog_max);
    row.utilisation = ratio(static_cast<double>(sum.loop_cpu_ns), static_cast<double>(sum.wall_ns));
    if (variant.policy->peer->grace_period_number != nullptr) {
        uint32_t a_gp = 0, batch = 0;
        for (std::size_t i = 0; i < record.callbacks_a_gp.count(); i++)
            a_gp = std::max(a_gp, record.callbacks_a_gp[i]);
        for (std::size_t i = 0; i < record.batches.count(); i++)
            batch = std::max(batch, record.batches[i]);
        row.callbacks_per_gp_max = a_gp;
        row.batch_max = batch;
        row.callbacks_direct = static_cast<double>(sum.direct);
        row.direct_refused = static_cast<double>(sum.direct_refused);
    }
    fill_intervals(row);
    return row;
}

void fill_intervals(Table1Row &row)
{
    const auto late = median_interval(row.each_late_us), share = median_interval(row.each_share_us);
    row.late_text = interval_text(late);
    row.share_text = interval_text(share);
    if (!late || !share)
        return;
    row.late_us = late->middle;
    row.late_us_low = late->low;
    row.late_us_high = late->high;
    row.share_us = share->middle;
    row.share_us_low = share->low;
    row.share_us_high = share->high;
}

Verdicts judge_table1(const std::vector<Table1Row> &rows, bool judge_times)
{
    Verdicts verdicts;
    for (const char *workload : {"dcache", "route"}) {
        const Table1Row *stock = find(rows, workload, "unbounded");
        const std::vector<const Table1Row *> found = find_cures(rows, workload);
        if (stock == nullptr || found.empty())
            continue;
        verdicts.push_back(judge_stock(*stock, found, &Table1Row::each_late_us, "the lateness", judge_times));
        verdicts.push_back(judge_stock(*stock, found, &Table1Row::each_share_us, "the callbacks' share", judge_times));
        if (found.size() > 1)
            verdicts.push_back(judge_cures(found, workload, judge_times));
        verdicts.push_back(judge_goal(found, workload, judge_times));
    }
    return verdicts;
}

} // namespace lab::latency

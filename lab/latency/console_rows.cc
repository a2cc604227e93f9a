// SPDX-License-Identifier: MIT OR Apache-2.0
// The rows and verdicts of a console beside a flood.
#include "latency/console_rows.h"

#include <algorithm>
#include <fmt/format.h>

#include "latency/checks.h"
#include "measure/quantile.h"

namespace lab::latency
{
namespace
{

void fill_answers(ConsoleRow &row, const std::vector<ConsoleResult> &rounds)
{
    std::vector<uint64_t> answers;
    uint64_t longest = 0;
    bool cut = false;
    for (const ConsoleResult &round : rounds) {
        answers.insert(answers.end(), round.responses_ns.begin(), round.responses_ns.end());
        if (round.longest_ns > longest)
            cut = round.cut;
        longest = std::max(longest, round.longest_ns);
    }
    const Samples samples(std::move(answers));
    row.answers = static_cast<double>(samples.count());
    row.answer_ms_p50 = scaled(samples.quantile_of_few(0.5), 1e-6);
    if (!rounds.empty())
        row.longest_ms = static_cast<double>(longest) / 1e6;
    row.longest_cut = cut;
    row.cut_mark = cut ? "≥" : "";
}

void fill_packets(ConsoleRow &row, const Totals &sum, unsigned operations)
{
    const auto seconds = static_cast<double>(sum.wall_ns) / 1e9;
    const auto lost = static_cast<double>(sum.work_events_lost * operations);
    const auto pushed_back = static_cast<double>(sum.dropped), taken = static_cast<double>(sum.operations);
    row.offered_per_s = ratio(taken + lost, seconds);
    row.served_per_s = ratio(taken - pushed_back, seconds);
    row.dropped_share = ratio(lost + pushed_back, taken + lost);
    row.pushed_back_share = ratio(pushed_back, taken + lost);
    row.utilisation = ratio(static_cast<double>(sum.loop_cpu_ns), static_cast<double>(sum.wall_ns));
    row.measured_s = seconds;
}

const ConsoleRow *find(const std::vector<ConsoleRow> &rows, const std::string &policy)
{
    for (const ConsoleRow &row : rows)
        if (row.policy == policy && row.longest_ms)
            return &row;
    return nullptr;
}

std::string longest_text(const ConsoleRow &row)
{
    return fmt::format("longest {}{} ms, {} answers, p50 {} ms", row.cut_mark, number(row.longest_ms),
                       whole(row.answers), number(row.answer_ms_p50));
}

// Judges the longest wait for an answer.  A wait that the end of the round cut short misses the bar if it was already
// longer, and is otherwise not judged.
Outcome judge_longest(const ConsoleRow &row, double bar_ms, Outcome otherwise)
{
    if (*row.longest_ms > bar_ms)
        return otherwise;
    return row.longest_cut.value_or(false) ? Outcome::not_judged : Outcome::held;
}

void judge_stock(const std::vector<ConsoleRow> &rows, bool judge_times, Verdicts &verdicts)
{
    const ConsoleRow *stock = find(rows, "unbounded");
    if (stock == nullptr)
        return;
    const bool stalls = *stock->longest_ms > console_bar_ms;
    verdicts.push_back({judged(judge_times, stalls, Outcome::not_reproduced),
                        fmt::format("unbounded: a saturating flood stalls the console beyond {:g} ms", console_bar_ms),
                        longest_text(*stock)});
}

void judge_ours(const ConsoleRow &row, const ConsoleRow *floor, bool judge_times, Verdicts &verdicts)
{
    const bool quiet = floor == nullptr || floor->answer_ms_p50.value_or(0) <= console_quiet_ms;
    const std::string beside =
        floor == nullptr ? ""
                         : fmt::format("; without a flood p50 {} ms, longest {} ms{}", number(floor->answer_ms_p50),
                                       number(floor->longest_ms), quiet ? "" : ": the machine is busy");
    verdicts.push_back(
        {judge_times && quiet ? judge_longest(row, console_bar_ms, Outcome::failed) : Outcome::not_judged,
         fmt::format("{}: beside a saturating flood the console answers within {:g} ms", row.policy, console_bar_ms),
         fmt::format("{}; {:.0f} % of the packets dropped{}", longest_text(row), 100 * row.dropped_share.value_or(0),
                     beside)});
    verdicts.push_back(judge_backlog("console " + row.policy, row.backlog_max.value_or(0), *row.backlog_limit,
                                     row.backlog_cut.value_or(false)));
}

} // namespace

ConsoleRow make_console_row(const Variant &variant, const VariantRecord &record,
                            const std::vector<ConsoleResult> &rounds, unsigned operations)
{
    ConsoleRow row;
    const Totals &sum = record.sum();
    row.policy = variant.policy->name;
    row.label = variant.policy->peer == &none_peer ? "none: no flood" : variant.policy->name;
    fill_answers(row, rounds);
    fill_packets(row, sum, operations);
    row.backlog_max = static_cast<double>(sum.backlog_max);
    bool cut = false;
    for (std::size_t i = 0; i < record.rounds.count(); i++)
        cut = cut || (sum.backlog_max != 0 && record.rounds[i].backlog_end >= sum.backlog_max);
    row.backlog_cut = cut;
    row.backlog_mark = cut ? "still growing" : "";
    if (sum.backlog_limit != 0)
        row.backlog_limit = static_cast<double>(sum.backlog_limit);
    std::vector<uint64_t> late(record.loop.count());
    for (std::size_t i = 0; i < late.size(); i++)
        late[i] = record.loop[i].late_ns;
    row.late_us_p99 = scaled(Samples(std::move(late)).quantile(0.99), 1e-3);
    return row;
}

Verdicts judge_console(const std::vector<ConsoleRow> &rows, bool judge_times)
{
    Verdicts verdicts;
    judge_stock(rows, judge_times, verdicts);
    for (const ConsoleRow &row : rows)
        if (row.backlog_limit && row.longest_ms)
            judge_ours(row, find(rows, "none"), judge_times, verdicts);
    return verdicts;
}

} // namespace lab::latency

// SPDX-License-Identifier: MIT OR Apache-2.0
// The latency experiment's verdicts.
#include "latency/checks.h"

#include <algorithm>
#include <fmt/format.h>

#include "measure/callback_meter.h"
#include "report/interval.h"
#include "report/table.h"

namespace lab::latency
{
namespace
{

const std::vector<std::string> cures = {"krcud",  "krcud-always", "throttle", "throttle-16",
                                        "direct", "inline",       "daemon"};
// This project's policies.  Such a policy that misses a bar is "failed"; a policy of the documents is "not reproduced".
const std::vector<std::string> ours = {"inline", "daemon"};

bool is_among(const std::string &name, const std::vector<std::string> &names)
{
    return std::find(names.begin(), names.end(), name) != names.end();
}

// Returns a text with the documents' figures for a burst.  The callbacks of 2004 took about 250 ns each.
const char *document_text(uint64_t burst)
{
    if (burst == smaller_bursts[0])
        return "; 2004: 1,660 callbacks, 711 µs late; about 4 callbacks per µs";
    return burst == flood_burst ? "; 2004: more than 30,000 in one grace period, not timed" : "";
}

// Judges whether a batch delays the probe by as long as its callbacks take: a sample that is due shortly after the
// batch begins waits for nearly the whole batch.
void judge_prediction(const CheckInput &input, Verdicts &verdicts)
{
    for (uint64_t burst : {smaller_bursts[0], smaller_bursts[1], flood_burst}) {
        const Row *row = find_row(input.rows, "flood", "unbounded", "loop", burst);
        if (row == nullptr)
            continue;
        const std::string claim = fmt::format("unbounded, bursts of {}: the overrun is about callbacks x callback time",
                                              whole(static_cast<double>(burst)));
        if (!row->callback_ns || !row->batch_max || !row->callback_share_us_full) {
            verdicts.push_back({Outcome::not_judged, claim,
                                row->callback_ns ? "no sample was due during a batch" : "no callback was timed"});
            continue;
        }
        double predicted = *row->batch_max * *row->callback_ns / 1000;
        double ratio = *row->callback_share_us_full / predicted;
        verdicts.push_back(
            {judged(input.judge_times, ratio > 0.5 && ratio < 2, Outcome::not_reproduced), claim,
             fmt::format("{} callbacks x {} ns = {} µs; measured {} µs (p95 of the samples due during a batch){}",
                         whole(row->batch_max), number(row->callback_ns), number(predicted),
                         number(row->callback_share_us_full), document_text(burst))});
    }
}

// Compares the flood under a cure, a policy of 2004 against long batches, with the flood under the stock policy.
void judge_cure(const CheckInput &input, const Row &stock, const Row &row, Verdicts &verdicts)
{
    const double limit = *stock.overrun_callbacks_max / 10;
    verdicts.push_back(
        {*row.overrun_callbacks_max <= limit ? Outcome::held : Outcome::failed,
         fmt::format("{} in the flood: at most a tenth as many callbacks begin late as with unbounded", row.policy),
         fmt::format("{} against {}", whole(row.overrun_callbacks_max), whole(stock.overrun_callbacks_max))});
    const std::string claim = fmt::format(
        "{} in the flood: the callbacks' share of the lateness (p99.9) is at most a tenth of unbounded's", row.policy);
    if (!stock.callback_share_us_p999) {
        verdicts.push_back(
            {Outcome::not_judged, claim,
             fmt::format("unbounded has {} samples of the 10,000 that p99.9 needs", whole(stock.samples))});
        return;
    }
    verdicts.push_back(judge_quantile(input.judge_times, claim, row.callback_share_us_p999,
                                      *stock.callback_share_us_p999 / 10, row.samples.value_or(0), 0.999));
}

void judge_flood(const CheckInput &input, Verdicts &verdicts)
{
    const Row *stock = find_row(input.rows, "flood", "unbounded", "loop");
    if (stock == nullptr || !stock->callback_share_us_max || !stock->overrun_callbacks_max)
        return;
    verdicts.push_back({judged(input.judge_times, *stock->callback_share_us_max >= 400, Outcome::not_reproduced),
                        "unbounded in the flood: callbacks delay the probe by 400 µs or more",
                        fmt::format("{} µs; 2004: over 400 µs of about 800, for 1,800 callbacks",
                                    number(stock->callback_share_us_max))});
    verdicts.push_back({*stock->overrun_callbacks_max >= flood_burst / 3 ? Outcome::held : Outcome::not_reproduced,
                        "unbounded in the flood begins thousands of callbacks after the probe was due",
                        fmt::format("{}", whole(stock->overrun_callbacks_max))});
    for (const std::string &cure : cures) {
        const Row *row = find_row(input.rows, "flood", cure, "loop");
        if (row != nullptr && row->overrun_callbacks_max)
            judge_cure(input, *stock, *row, verdicts);
    }
}

void judge_limits(const CheckInput &input, Verdicts &verdicts)
{
    for (const Row &row : input.rows)
        if (row.probe == "loop" && row.backlog_limit && row.backlog_max)
            verdicts.push_back(
                judge_backlog(row.label, *row.backlog_max, *row.backlog_limit, row.backlog_cut.value_or(false)));
}

// Judges, by counts, the statements that the documents make about their policies in the flood.
void judge_documents(const CheckInput &input, Verdicts &verdicts)
{
    auto add = [&](const char *policy, const std::string &claim, auto holds, auto figures) {
        const Row *row = find_row(input.rows, "flood", policy, "loop");
        if (row != nullptr && row->overrun_callbacks_max && row->backlog_max)
            verdicts.push_back({holds(*row) ? Outcome::held : Outcome::not_reproduced, claim, figures(*row)});
    };
    add(
        "krcud-0", "krcud with bhlimit 0 has no daemon: the loop begins thousands of callbacks late",
        [](const Row &row) { return *row.overrun_callbacks_max >= flood_burst / 3; },
        [](const Row &row) { return whole(row.overrun_callbacks_max); });
    for (const char *policy : {"throttle", "throttle-16"})
        add(
            policy,
            fmt::format("{} in the flood has its known weakness: the backlog exceeds a grace period's callbacks",
                        policy),
            [](const Row &row) { return *row.backlog_max > flood_burst; },
            [](const Row &row) {
                return fmt::format("{}{}{}", whole(row.backlog_max), row.backlog_mark.empty() ? "" : " ",
                                   row.backlog_mark);
            });
    add(
        "direct", "direct in the flood runs each callback immediately and queues none",
        [](const Row &row) { return row.direct_refused.value_or(1) == 0 && row.callbacks_direct.value_or(0) > 0; },
        [](const Row &row) {
            return fmt::format("{} run immediately, {} queued", whole(row.callbacks_direct), whole(row.direct_refused));
        });
}

void judge_inline(const CheckInput &input, Verdicts &verdicts)
{
    Figure late;
    for (const Row &row : input.rows)
        if (row.policy == "inline" && row.probe == "loop" && row.overrun_callbacks_max)
            late = std::max(late.value_or(0), *row.overrun_callbacks_max);
    if (!late)
        return;
    const double worth = clock_check_worth + callback_stamp_stride - 1;
    verdicts.push_back(
        {*late <= worth ? Outcome::held : Outcome::failed,
         fmt::format("inline stops at its first clock check after the deadline: at most {} callbacks begin late",
                     whole(worth)),
         fmt::format("{}, the largest of all workloads", whole(late))});
    verdicts.push_back(judge_quantile(
        input.judge_times,
        fmt::format("inline: the callbacks' share of the lateness (p99.99) is at most {:g} µs over all workloads",
                    share_bar_us),
        scaled(input.inline_shares.quantile(0.9999), 1e-3), share_bar_us,
        static_cast<double>(input.inline_shares.count()), 0.9999));
}

// Formats the CPU time of an operation, and the part of it that the back-end's own threads used.
std::string cost_text(const Row &row)
{
    const double operation_ns = 1e9 / *row.ops_per_cpu_s;
    const double helpers_ns = row.helper_cpus && row.ops_per_s ? 1e9 * *row.helper_cpus / *row.ops_per_s : 0;
    return fmt::format("{} ns per operation, {} of them in the library's threads", number(operation_ns),
                       number(helpers_ns));
}

void judge_throughput(const CheckInput &input, Verdicts &verdicts)
{
    for (const Row &row : input.rows) {
        if (row.probe != "loop" || !is_among(row.policy, cures))
            continue;
        const Row *stock = find_row(input.rows, row.workload, "unbounded", "loop");
        if (stock == nullptr || row.scheduling != stock->scheduling || !row.ops_per_cpu_s || !stock->ops_per_cpu_s)
            continue;
        const std::string claim =
            fmt::format("{}: operations per second of CPU time, daemons included, are at least {:.0f} % of unbounded's",
                        row.label, 100 * throughput_bar);
        const auto share = ratio_interval(row.each_ops_per_cpu_s, stock->each_ops_per_cpu_s);
        if (!share) {
            verdicts.push_back({Outcome::not_judged, claim, too_few_rounds(row.each_ops_per_cpu_s.size())});
            continue;
        }
        verdicts.push_back(
            {input.judge_times ? judge_least(*share, throughput_bar,
                                             is_among(row.policy, ours) ? Outcome::failed : Outcome::not_reproduced)
                               : Outcome::not_judged,
             claim,
             fmt::format("{} %; {}; unbounded {}", interval_text(share, 100), cost_text(row), cost_text(*stock))});
    }
}

// Judges the control, a thread of higher priority than the loop.  If a policy delays the control, the other figures do
// not measure callbacks alone.
void judge_control(const CheckInput &input, Verdicts &verdicts)
{
    constexpr double most = 3;
    const std::string claim = fmt::format(
        "no policy delays the control, a thread of higher priority: its p99 is at most {:g} times the floor's", most);
    std::optional<Interval> worst;
    std::optional<std::size_t> rounds; // the largest number of rounds that a row shares with its floor
    std::string beside;
    for (const Row &row : input.rows) {
        const Row *floor = find_row(input.rows, row.workload, "none", "thread");
        if (row.probe != "thread" || row.policy == "none" || row.scheduling != "fifo" || floor == nullptr)
            continue;
        const auto times = ratio_interval(row.each_p99_us, floor->each_p99_us);
        rounds = std::max(rounds.value_or(0), std::min(row.each_p99_us.size(), floor->each_p99_us.size()));
        if (times && (!worst || times->low > worst->low)) {
            worst = times;
            beside = row.label;
        }
    }
    if (!rounds)
        return;
    if (!worst) {
        verdicts.push_back({Outcome::not_judged, claim, too_few_rounds(*rounds)});
        return;
    }
    verdicts.push_back({input.judge_times ? judge_most(*worst, most, Outcome::not_reproduced) : Outcome::not_judged,
                        claim,
                        fmt::format("at most {} times, with {} (median over the rounds of each round's p99)",
                                    interval_text(worst), beside)});
}

} // namespace

// A backlog that still grew at the end of a round, below the limit, has not reached its maximum: it is not judged.
Verdict judge_backlog(const std::string &label, double most, double limit, bool cut)
{
    const bool open = cut && most < limit;
    const Outcome within = open ? Outcome::not_judged : Outcome::held;
    return {most > limit ? Outcome::failed : within,
            fmt::format("{}: the producer is slowed down, and the backlog stays within qmax", label),
            fmt::format("{} of {}{}", whole(most), whole(limit), open ? ", still growing" : "")};
}

Verdict judge_quantile(bool judge_it, const std::string &claim, const Figure &us, double bar_us, double samples,
                       double quantile)
{
    const auto needed = static_cast<double>(samples_needed(quantile));
    if (!us)
        return {Outcome::not_judged, claim,
                fmt::format("{} samples of the {} that p{:g} needs", whole(samples), whole(needed), 100 * quantile)};
    return {judged(judge_it, *us <= bar_us), claim,
            fmt::format("{} µs, at most {} µs, over {} samples", number(us), number(bar_us), whole(samples))};
}

Verdicts judge_latency(const CheckInput &input)
{
    Verdicts verdicts;
    judge_prediction(input, verdicts);
    judge_flood(input, verdicts);
    judge_limits(input, verdicts);
    judge_documents(input, verdicts);
    judge_inline(input, verdicts);
    judge_throughput(input, verdicts);
    judge_control(input, verdicts);
    return verdicts;
}

} // namespace lab::latency

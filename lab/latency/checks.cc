// SPDX-License-Identifier: MIT OR Apache-2.0
// The latency experiment's verdicts.
#include "latency/checks.h"

#include <algorithm>
#include <fmt/format.h>

#include "measure/callback_meter.h"
#include "report/table.h"

namespace lab::latency
{
namespace
{

const std::vector<std::string> cures = {"krcud", "throttle", "direct", "inline", "daemon"};

// The interrupt that announces the due time falls into every overrun, and the kernel books it on the loop.
double interrupt_us(const CheckInput &input)
{
    return static_cast<double>(input.interrupts.quantile_of_few(0.95).value_or(0)) / 1000;
}

// The timers go on meanwhile, so a long batch takes its callbacks' time and that of the interrupts that fall into it.
// A batch that runs into the due time overruns by what is left of it: nearly all, when the due time falls near its
// begin.
void judge_prediction(const CheckInput &input, Verdicts &verdicts)
{
    for (uint64_t burst : {smaller_bursts[0], smaller_bursts[1], flood_burst}) {
        const Row *row = find_row(input.rows, "flood", "unbounded", "loop", burst);
        if (row == nullptr || !row->callback_ns || !row->batch_max || !row->overrun_cpu_us_full)
            continue;
        double predicted = *row->batch_max * *row->callback_ns / 1000;
        double ratio = *row->overrun_cpu_us_full / predicted;
        verdicts.push_back(
            {judged(input.judge_times, ratio > 0.5 && ratio < 2.5, Outcome::not_reproduced),
             fmt::format("unbounded, bursts of {}: the overrun is about callbacks x callback time",
                         whole(static_cast<double>(burst))),
             fmt::format(
                 "{} callbacks x {} ns = {} µs; overrun {} µs of CPU time (p95 of the due times that a batch ran into)",
                 whole(row->batch_max), number(row->callback_ns), number(predicted),
                 number(row->overrun_cpu_us_full))});
    }
}

void judge_flood(const CheckInput &input, Verdicts &verdicts)
{
    const Row *stock = find_row(input.rows, "flood", "unbounded", "loop");
    if (stock == nullptr || !stock->overrun_us_max || !stock->overrun_callbacks_max)
        return;
    verdicts.push_back({judged(input.judge_times, *stock->overrun_us_max >= 400, Outcome::not_reproduced),
                        "unbounded in the flood overruns by 400 µs or more",
                        fmt::format("{} µs", number(stock->overrun_us_max))});
    verdicts.push_back({*stock->overrun_callbacks_max >= flood_burst / 3 ? Outcome::held : Outcome::not_reproduced,
                        "unbounded in the flood begins thousands of callbacks after the probe was due",
                        fmt::format("{}", whole(stock->overrun_callbacks_max))});
    for (const std::string &cure : cures) {
        const Row *row = find_row(input.rows, "flood", cure, "loop");
        if (row == nullptr || !row->overrun_callbacks_max)
            continue;
        double limit = *stock->overrun_callbacks_max / 10;
        verdicts.push_back(
            {*row->overrun_callbacks_max <= limit ? Outcome::held : Outcome::failed,
             fmt::format("{} in the flood: callbacks begun late, at most a tenth of unbounded's", cure),
             fmt::format("{} against {}", whole(row->overrun_callbacks_max), whole(stock->overrun_callbacks_max))});
        const Figure &cured = row->overrun_cpu_us_p999, &uncured = stock->overrun_cpu_us_p999;
        if (!cured || !uncured)
            continue;
        verdicts.push_back(
            {judged(input.judge_times, *cured <= *uncured / 10 + interrupt_us(input), Outcome::failed),
             fmt::format(
                 "{} in the flood: overrun in CPU time at p99.9, at most a tenth of unbounded's, beside one interrupt",
                 cure),
             fmt::format("{} µs against {} µs; on the wall {} µs against {} µs", number(cured), number(uncured),
                         number(row->overrun_us_p999), number(stock->overrun_us_p999))});
    }
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
         fmt::format("inline begins no callback after a clock check that saw the deadline: at most {} late",
                     whole(worth)),
         fmt::format("{}, the largest of all workloads", whole(late))});
    auto p9999 = input.inline_overrun_cpu.quantile(0.9999);
    const std::string count = whole(static_cast<double>(input.inline_overrun_cpu.count()));
    if (!p9999) {
        verdicts.push_back({Outcome::not_judged,
                            "inline overruns by at most 10 µs of CPU time at p99.99, all workloads together",
                            fmt::format("{} samples of the 100,000 that p99.99 needs", count)});
        return;
    }
    const double us = static_cast<double>(*p9999) / 1000;
    const double interrupt = interrupt_us(input);
    verdicts.push_back(
        {judged(input.judge_times, us <= 10 + interrupt, Outcome::failed),
         "inline overruns by at most 10 µs of CPU time at p99.99, beside one interrupt, all workloads together",
         fmt::format("{} µs over {} samples; an interrupt takes {} µs here (p95)", number(us), count,
                     number(interrupt))});
}

void judge_throughput(const CheckInput &input, Verdicts &verdicts)
{
    for (const Row &row : input.rows) {
        if (row.probe != "loop" || std::find(cures.begin(), cures.end(), row.policy) == cures.end())
            continue;
        const Row *stock = find_row(input.rows, row.workload, "unbounded", "loop");
        if (stock == nullptr || row.scheduling != stock->scheduling || !row.ops_per_s || !stock->ops_per_s)
            continue;
        double served = *row.ops_per_s / *stock->ops_per_s;
        verdicts.push_back(
            {judged(input.judge_times, served >= 0.95, Outcome::failed),
             fmt::format("{}: throughput at least 95 % of unbounded's", row.label),
             fmt::format("{:.1f} % ({} operations/s at {:.0f} % of a CPU against {:.0f} %)", served * 100,
                         whole(row.ops_per_s), *row.utilisation * 100, *stock->utilisation * 100)});
    }
}

// A thread of higher priority does not see what a lower one runs: if it does, the figures above are not about
// callbacks.
void judge_control(const CheckInput &input, Verdicts &verdicts)
{
    Figure worst;
    std::string who;
    for (const Row &row : input.rows) {
        if (row.probe != "thread" || row.policy == "none" || row.scheduling != "fifo" || !row.round_p99_us ||
            !row.floor_round_p99_us)
            continue;
        double ratio = *row.round_p99_us / *row.floor_round_p99_us;
        if (!worst || ratio > *worst) {
            worst = ratio;
            who = row.label;
        }
    }
    if (!worst)
        return;
    verdicts.push_back(
        {judged(input.judge_times, *worst < 3, Outcome::not_reproduced),
         "the control, a thread above the loop, sees no policy: its p99 stays within 3 times the floor's",
         fmt::format("{:.1f} times at most, beside {} (p99 of a round, the median over the rounds)", *worst, who)});
}

} // namespace

Verdicts judge_latency(const CheckInput &input)
{
    Verdicts verdicts;
    judge_prediction(input, verdicts);
    judge_flood(input, verdicts);
    judge_inline(input, verdicts);
    judge_throughput(input, verdicts);
    judge_control(input, verdicts);
    return verdicts;
}

} // namespace lab::latency

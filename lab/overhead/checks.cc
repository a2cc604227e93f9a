// SPDX-License-Identifier: MIT OR Apache-2.0
// The overhead experiment's verdicts.
#include "overhead/checks.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/table.h"

namespace lab::overhead
{
namespace
{

const char *const engines[] = {"ltimer", "sched", "poll", "kthread"};
// As measured in 2002, each with the feature that the document names.
const char *const engines_of_2002[] = {"ltimer", "sched/global counter", "poll/global queue"};
// Who does the same work misses the cache as often; more than this apart and the figures are about other work.
constexpr double same_work_within = 1.15;

// Judged as they were: nothing to judge where a row is missing.
Outcome bar(const CheckInput &input, bool known, bool holds)
{
    return judged(input.judge_times && known, holds);
}

Outcome finding(const CheckInput &input, bool known, bool holds)
{
    return judged(input.judge_times && known, holds, Outcome::not_reproduced);
}

// "ltimer 41.2, sched 40.8" of one figure.
template <class Labels>
std::string list(const CheckInput &input, const Labels &labels, const char *environment, Number Row::*figure)
{
    std::vector<std::string> parts;
    for (const auto &label : labels)
        if (const Row *row = find_row(input.rows, label, environment))
            parts.push_back(fmt::format("{} {}", row->label, number(row->*figure)));
    return fmt::format("{}", fmt::join(parts, ", "));
}

Figure figure_of(const CheckInput &input, const char *label, const char *environment, Number Row::*figure)
{
    const Row *row = find_row(input.rows, label, environment);
    return row != nullptr ? Figure(row->*figure) : std::nullopt;
}

void judge_rare(const CheckInput &input, Verdicts &verdicts)
{
    bool known = true, ahead = true;
    for (const char *engine : engines) {
        const Figure gain = figure_of(input, engine, "rare", &Row::net_gain_pct);
        known = known && gain;
        ahead = ahead && gain.value_or(-1) > 0;
    }
    verdicts.push_back({bar(input, known, ahead),
                        "updates rare: every engine spends less CPU a packet than base with one lock",
                        "gain in %: " + list(input, engines, "rare", &Row::net_gain_pct)});
}

void judge_frequent(const CheckInput &input, Verdicts &verdicts)
{
    const Figure ltimer = figure_of(input, "ltimer", "frequent", &Row::net_gain_pct);
    const Figure kthread = figure_of(input, "kthread", "frequent", &Row::net_gain_pct);
    const bool ahead = std::max(ltimer.value_or(-1), kthread.value_or(-1)) > 0;
    verdicts.push_back({bar(input, ltimer && kthread, ahead),
                        "updates frequent: kthread or ltimer spends less CPU a packet than base with one lock, net of "
                        "RCU's own cost",
                        "gain in %: " + list(input, engines, "frequent", &Row::net_gain_pct)});
}

// Counts, which are judged in every run: the same work was done, and callbacks came through.
void judge_work(const CheckInput &input, Verdicts &verdicts)
{
    double least = 1, most = 0;
    bool invoked = true, any = false;
    for (const Row &row : input.rows) {
        if (row.environment != "frequent" || !row.misses_per_packet)
            continue;
        any = true;
        least = std::min(least, *row.misses_per_packet);
        most = std::max(most, *row.misses_per_packet);
        invoked = invoked && (!row.callbacks_per_s || *row.callbacks_per_s > 0);
    }
    if (!any)
        return;
    verdicts.push_back({most <= least * same_work_within ? Outcome::held : Outcome::failed,
                        "all variants did the same work: misses a packet, updates frequent",
                        fmt::format("{:.4f} to {:.4f}", least, most)});
    verdicts.push_back({invoked ? Outcome::held : Outcome::failed,
                        "every engine invoked callbacks while it was measured",
                        list(input, engines, "frequent", &Row::callbacks_per_s) + " a second"});
}

void conclude_updates_more_than_rare(const CheckInput &input, Verdicts &verdicts)
{
    const Figure gain = figure_of(input, "ltimer", "frequent", &Row::document_gain_pct);
    const Figure chains = figure_of(input, "ltimer", "frequent", &Row::net_gain_chain_locks_pct);
    verdicts.push_back(
        {finding(input, gain.has_value(), gain.value_or(-1) > 0),
         "1. RCU can be beneficial even when updates are more than rare: rcu_ltimer gains net (2358 ticks "
         "against 1646 + 425, 12 %)",
         fmt::format("ltimer {} % counted as there; CPU a packet against base with one lock {} %, with "
                     "a lock a chain {} %",
                     number(gain), number(figure_of(input, "ltimer", "frequent", &Row::net_gain_pct)),
                     number(chains))});
}

void conclude_rare(const CheckInput &input, Verdicts &verdicts)
{
    bool known = true, ahead = true;
    for (const char *engine : engines_of_2002) {
        const Figure gain = figure_of(input, engine, "rare", &Row::document_gain_pct);
        known = known && gain;
        ahead = ahead && gain.value_or(-1) > 0;
    }
    verdicts.push_back(
        {finding(input, known, ahead),
         "2. when updates are rare most implementations work well (4486 ticks against 2045 to 2382 with all RCU work)",
         fmt::format("gain in %, counted as there: {}; CPU a packet against a lock a chain: {}",
                     list(input, engines_of_2002, "rare", &Row::document_gain_pct),
                     list(input, engines_of_2002, "rare", &Row::net_gain_chain_locks_pct))});
}

void conclude_global_queue(const CheckInput &input, Verdicts &verdicts)
{
    const Figure cost = figure_of(input, "poll/global queue", "frequent", &Row::rcu_ns);
    const Figure wait = figure_of(input, "poll/global queue", "frequent", &Row::gp_latency_us_p50);
    bool known = cost && wait, last = true, first = true;
    for (const char *other : {"ltimer", "sched/global counter"}) {
        const Figure its_cost = figure_of(input, other, "frequent", &Row::rcu_ns);
        const Figure its_wait = figure_of(input, other, "frequent", &Row::gp_latency_us_p50);
        known = known && its_cost && its_wait;
        last = last && cost > its_cost;
        first = first && wait < its_wait;
    }
    verdicts.push_back({finding(input, known, last),
                        "3. global queues are out: poll with the global queue costs most of the engines of OLS 2002",
                        fmt::format("RCU ns a packet: {}; the same engine with queues of the threads: {}",
                                    list(input, engines_of_2002, "frequent", &Row::rcu_ns),
                                    number(figure_of(input, "poll", "frequent", &Row::rcu_ns)))});
    verdicts.push_back({finding(input, known, first), "   and polling gives the shortest grace periods",
                        fmt::format("µs, p50: {}; the same engine with queues of the threads: {}",
                                    list(input, engines_of_2002, "frequent", &Row::gp_latency_us_p50),
                                    number(figure_of(input, "poll", "frequent", &Row::gp_latency_us_p50)))});
}

void conclude_global_counter(const CheckInput &input, Verdicts &verdicts)
{
    const Figure with = figure_of(input, "sched/global counter", "frequent", &Row::call_rcu_ns);
    const Figure without = figure_of(input, "sched", "frequent", &Row::call_rcu_ns);
    verdicts.push_back(
        {finding(input, with && without, with.value_or(0) > without.value_or(0) * 1.1),
         "4. the global atomic counter of rcu_sched hurts, seen in call_rcu()",
         fmt::format(
             "queueing and counting a callback: {} ns with the counter, {} ns without; RCU ns a packet {} and {}",
             number(with), number(without), number(figure_of(input, "sched/global counter", "frequent", &Row::rcu_ns)),
             number(figure_of(input, "sched", "frequent", &Row::rcu_ns)))});
}

} // namespace

Verdicts judge_bars(const CheckInput &input)
{
    Verdicts verdicts;
    judge_rare(input, verdicts);
    judge_frequent(input, verdicts);
    judge_work(input, verdicts);
    return verdicts;
}

Verdicts judge_conclusions(const CheckInput &input)
{
    Verdicts verdicts;
    conclude_updates_more_than_rare(input, verdicts);
    conclude_rare(input, verdicts);
    conclude_global_queue(input, verdicts);
    conclude_global_counter(input, verdicts);
    return verdicts;
}

} // namespace lab::overhead

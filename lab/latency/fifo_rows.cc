// SPDX-License-Identifier: MIT OR Apache-2.0
// Rows and verdicts of the FIFO updater.
#include "latency/fifo_rows.h"

#include <algorithm>
#include <fmt/format.h>

#include "measure/quantile.h"
#include "report/interval.h"
#include "report/table.h"

namespace lab::latency
{
namespace
{

constexpr std::size_t settled_due_times = fifo_flood::settled_ns / fifo_flood::due_ns;

uint32_t peak(const FifoRound &round, std::size_t from, std::size_t to)
{
    uint32_t most = 0;
    for (std::size_t i = from; i < std::min<std::size_t>(to, round.due_times); i++)
        most = std::max(most, round.backlog[i]);
    return most;
}

const FifoRow *find(const std::vector<FifoRow> &rows, const std::string &variant)
{
    for (const FifoRow &row : rows)
        if (row.variant == variant && !row.each_later.empty())
            return &row;
    return nullptr;
}

// Formats the median with its interval; with too few rounds for an interval, only the median.
std::string text_of(const std::vector<double> &values)
{
    const auto interval = median_interval(values);
    return interval ? interval_text(interval) : number(median(values));
}

void fill(const std::vector<double> &values, Number &middle, Number &low, Number &high)
{
    middle = median(values);
    const auto interval = median_interval(values);
    if (!interval)
        return;
    middle = interval->middle;
    low = interval->low;
    high = interval->high;
}

std::vector<double> ratios(const std::vector<double> &a, const std::vector<double> &b)
{
    std::vector<double> each;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); i++)
        each.push_back(b[i] != 0 ? a[i] / b[i] : 0);
    return each;
}

// Returns the verdict on a ratio.  `outcome` is the outcome by the ratio's interval; without judge_times the verdict is
// "not judged".
Verdict verdict_of(Outcome outcome, bool judge_times, const std::string &claim, const std::string &figures)
{
    if (!judge_times)
        return {Outcome::not_judged, claim, figures};
    return {outcome, claim,
            figures + (outcome == Outcome::not_judged ? "; undecided: the interval contains the bar" : "")};
}

Verdict judge_peak(const FifoRow &ours, const FifoRow &peer, Numbers FifoRow::*each, const std::string &claim,
                   double bar, bool judge_times)
{
    const auto ratio = ratio_interval(ours.*each, peer.*each);
    if (!ratio)
        return {Outcome::not_judged, claim, too_few_rounds(std::min((ours.*each).size(), (peer.*each).size()))};
    return verdict_of(judge_most(*ratio, bar), judge_times, claim,
                      fmt::format("{} times in the same round; medians {} against {} callbacks", interval_text(ratio),
                                  whole(median(ours.*each)), whole(median(peer.*each))));
}

Verdict judge_work(const FifoRow &ours, const FifoRow &ordinary, const FifoRow *liburcu, bool judge_times)
{
    const std::string claim = fmt::format("fifo: the {} ordinary threads do at least {:g} × the work that they do with "
                                          "gp_rtprio=0 krcud_rtprio=0",
                                          fifo_flood::busy_threads, fifo_work_bar);
    const auto ratio = ratio_interval(ours.each_loops, ordinary.each_loops);
    if (!ratio)
        return {Outcome::not_judged, claim,
                too_few_rounds(std::min(ours.each_loops.size(), ordinary.each_loops.size()))};
    const auto beside = liburcu == nullptr ? std::nullopt : ratio_interval(ours.each_loops, liburcu->each_loops);
    return verdict_of(
        judge_least(*ratio, fifo_work_bar), judge_times, claim,
        fmt::format(
            "{} times in the same round; CPU time with and without real-time threads of the library: ordinary threads "
            "{} against {} CPUs, the library's threads {} % against {} % of a CPU, other processes {} against {} "
            "CPUs{}",
            interval_text(ratio), number(ours.ordinary_cpus), number(ordinary.ordinary_cpus),
            number(scaled(ours.own_cpus, 100)), number(scaled(ordinary.own_cpus, 100)), number(ours.others_cpus),
            number(ordinary.others_cpus),
            beside ? fmt::format("; {} times the work beside liburcu", interval_text(beside)) : ""));
}

void fill_lateness(FifoRow &row, const std::vector<FifoRound> &rounds)
{
    std::vector<uint64_t> late;
    for (const FifoRound &round : rounds)
        late.insert(late.end(), round.late_ns.begin(), round.late_ns.begin() + round.due_times);
    const Samples samples(std::move(late));
    row.late_us_p50 = scaled(samples.quantile(0.5), 1e-3);
    row.late_us_p99 = scaled(samples.quantile(0.99), 1e-3);
    row.late_us_max = scaled(samples.max(), 1e-3);
    row.due_times = static_cast<double>(samples.count());
}

} // namespace

FifoRow make_fifo_row(const FifoVariant &variant, const std::vector<FifoRound> &rounds)
{
    FifoRow row;
    row.variant = variant.name;
    row.what = variant.what;
    std::vector<double> begin, age_p99, own_cpus, ordinary_cpus, others_cpus;
    auto part = [](int64_t ns, const FifoRound &round) {
        return ratio(static_cast<double>(ns), static_cast<double>(round.wall_ns)).value_or(0);
    };
    double age_max = 0, queued = 0, unfinished = 0;
    uint32_t threads = 0, realtime = 0;
    for (const FifoRound &round : rounds) {
        const uint32_t early = peak(round, 0, settled_due_times), later = peak(round, settled_due_times, SIZE_MAX);
        begin.push_back(early);
        row.each_later.push_back(later);
        row.each_whole.push_back(std::max(early, later));
        const auto seconds = static_cast<double>(round.wall_ns) / 1e9;
        row.each_loops.push_back(ratio(static_cast<double>(round.loops), seconds).value_or(0));
        own_cpus.push_back(part(round.helper_cpu_ns, round));
        ordinary_cpus.push_back(part(round.loops_cpu_ns, round));
        others_cpus.push_back(part(round.others_ns, round));
        age_p99.push_back(round.age_p99_us / 1e3);
        age_max = std::max(age_max, round.age_max_us / 1e3);
        queued += static_cast<double>(round.queued);
        unfinished += static_cast<double>(round.unfinished);
        threads = std::max(threads, round.helpers);
        realtime = std::max(realtime, round.helpers_realtime);
    }
    row.begin = median(begin);
    row.age_ms_p99 = median(age_p99);
    row.age_ms_max = rounds.empty() ? Figure() : Figure(age_max);
    row.age_mark = unfinished != 0 ? "≥" : "";
    row.own_cpus = median(own_cpus);
    row.ordinary_cpus = median(ordinary_cpus);
    row.others_cpus = median(others_cpus);
    row.threads = threads;
    row.realtime_threads = realtime;
    row.realtime_text = fmt::format("{} of {}", realtime, threads);
    row.callbacks = queued;
    row.unfinished = unfinished;
    row.rounds = static_cast<double>(rounds.size());
    fill_lateness(row, rounds);
    return row;
}

FifoCurve make_fifo_curve(const FifoVariant &variant, const std::vector<FifoRound> &rounds)
{
    FifoCurve curve;
    curve.workload = "fifo";
    curve.variant = variant.name;
    std::vector<const FifoRound *> order;
    for (const FifoRound &round : rounds)
        order.push_back(&round);
    if (order.empty())
        return curve;
    std::sort(order.begin(), order.end(), [](const FifoRound *a, const FifoRound *b) {
        return peak(*a, settled_due_times, SIZE_MAX) < peak(*b, settled_due_times, SIZE_MAX);
    });
    const FifoRound &middle = *order[order.size() / 2];
    for (std::size_t i = 0; i < middle.due_times; i++)
        curve.backlog.emplace_back(static_cast<double>((i + 1) * fifo_flood::due_ns) / 1e6, middle.backlog[i]);
    return curve;
}

void fill_fifo_intervals(std::vector<FifoRow> &rows)
{
    const FifoRow *ordinary = find(rows, fifo_ordinary);
    for (FifoRow &row : rows) {
        fill(row.each_later, row.later, row.later_low, row.later_high);
        fill(row.each_whole, row.whole, row.whole_low, row.whole_high);
        row.later_text = text_of(row.each_later);
        row.whole_text = text_of(row.each_whole);
        if (ordinary == nullptr || ordinary == &row) {
            row.work = ordinary == nullptr ? Figure() : Figure(1);
            row.work_text = ordinary == nullptr ? "-" : "1";
            continue;
        }
        const std::vector<double> each = ratios(row.each_loops, ordinary->each_loops);
        fill(each, row.work, row.work_low, row.work_high);
        row.work_text = text_of(each);
    }
}

Verdicts judge_fifo(const std::vector<FifoRow> &rows, bool judge_times)
{
    Verdicts verdicts;
    const FifoRow *ours = find(rows, fifo_ours), *liburcu = find(rows, fifo_liburcu),
                  *ordinary = find(rows, fifo_ordinary);
    if (ours == nullptr)
        return verdicts;
    if (liburcu != nullptr) {
        verdicts.push_back(judge_peak(
            *ours, *liburcu, &FifoRow::each_later,
            fmt::format("fifo: peak backlog after the first 0.3 s, at most {:g} × liburcu's", fifo_later_bar),
            fifo_later_bar, judge_times));
        verdicts.push_back(
            judge_peak(*ours, *liburcu, &FifoRow::each_whole,
                       fmt::format("fifo: peak backlog of the whole round, at most {:g} × liburcu's", fifo_whole_bar),
                       fifo_whole_bar, judge_times));
    }
    if (ordinary != nullptr)
        verdicts.push_back(judge_work(*ours, *ordinary, liburcu, judge_times));
    return verdicts;
}

} // namespace lab::latency

// SPDX-License-Identifier: MIT OR Apache-2.0
// The expedited experiment's verdicts.
#include "expedited/checks.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "expedited/rows.h"
#include "measure/quantile.h"
#include "report/interval.h"
#include "report/table.h"

namespace lab::expedited
{
namespace
{

constexpr double down_by_pct = -98; // this project's bar, with load from another process group
constexpr double document_mean_pct = -94.49,
                 document_max_pct = -99.38; // figures of the document of 2022: kthread_worker against workqueues
// If boosting alone reduces the mean to this share or less, boosting alone helps. A smaller effect seldom shows in few
// experiments.
constexpr double no_help = 0.5;
constexpr double p99_limit_ns = 1e6;
constexpr double p50_share_of_liburcu = 1.0 / 50;
constexpr double boosted_share = 1.0 / 10; // share of the p50 without boosting, with 64 busy readers
constexpr double rates_equal = 0.9, throughput_kept = 0.95;
constexpr double interrupts_a_gp = 0.1;

std::string ns_text(const Figure &ns)
{
    return number(scaled(ns, 1e-3)) + " µs";
}

std::string pct_text(const Figure &pct)
{
    return pct ? fmt::format("{:+.2f} %", *pct) : "-";
}

const char *environment_of(Group group)
{
    return group == Group::loaded ? "loaded" : "quiet";
}

const Cell *cell_of(const Plan &plan, Group group, bool boost, Worker worker)
{
    return find_cell(plan, group, Call::expedited, 0, boost, worker);
}

// A function that computes a figure from the latencies of one experiment; the values of all experiments have a spread.
using OfExperiment = double (*)(const std::vector<uint64_t> &latency_ns);

double mean_of(const std::vector<uint64_t> &values)
{
    return Samples(values).mean();
}
double median_of(const std::vector<uint64_t> &values)
{
    return static_cast<double>(*Samples(values).quantile_of_few(0.5));
}
double max_of(const std::vector<uint64_t> &values)
{
    return static_cast<double>(*Samples(values).max());
}

// Returns the ratio of `after` to `before` over the experiments in which calls of both returned; sets `rounds` to the
// number of these experiments.
std::optional<Interval> compared(const Cell *before, const Cell *after, OfExperiment figure, std::size_t &rounds)
{
    std::vector<double> a, b;
    if (before == nullptr || after == nullptr)
        return std::nullopt;
    for (std::size_t i = 0; i < std::min(before->latency_ns.size(), after->latency_ns.size()); i++) {
        if (before->latency_ns[i].empty() || after->latency_ns[i].empty())
            continue;
        a.push_back(figure(after->latency_ns[i]));
        b.push_back(figure(before->latency_ns[i]));
    }
    rounds = a.size();
    return ratio_interval(a, b);
}

std::string compared_text(const std::optional<Interval> &interval, std::size_t rounds)
{
    if (!interval)
        return too_few_rounds(rounds);
    return fmt::format("one by one {:.4f} ({:.4f} to {:.4f}) times", interval->middle, interval->low, interval->high);
}

struct Named {
    const char *name;
    Compared Summary::*figure;
    OfExperiment of_experiment;
    double ours_pct, document_pct;
};
const Named maximum = {"maximum", &Summary::max_ns, max_of, down_by_pct, document_max_pct};
const Named mean = {"mean", &Summary::avg_ns, mean_of, down_by_pct, document_mean_pct};

// The reduction of a figure between two cells.  `pct` is over all calls together, as in the document; `each` is the
// interval of the ratios of the experiments, which shows the spread.
struct Drop {
    Figure before, after, pct;
    std::size_t rounds = 0;
    std::optional<Interval> each;
    Drop(const Cell *before_cell, const Cell *after_cell, const Named &named)
        : before(summary_of(before_cell).*named.figure), after(summary_of(after_cell).*named.figure),
          pct(diff_pct(before, after)), each(compared(before_cell, after_cell, named.of_experiment, rounds))
    {
    }
    Outcome judged(bool times, double bar_pct, Outcome otherwise) const
    {
        if (!times || !pct || !each)
            return Outcome::not_judged;
        if (each->covers(1))
            return Outcome::not_reproduced;
        return each->high < 1 && *pct <= bar_pct ? Outcome::held : otherwise;
    }
    std::string text() const
    {
        return fmt::format("{} -> {}, {}; {}", ns_text(before), ns_text(after), pct_text(pct),
                           compared_text(each, rounds));
    }
};

std::string cut_off_text(const Cell *cell)
{
    const std::size_t count = cell != nullptr ? cell->cut_off_ns.size() : 0;
    return count != 0 ? fmt::format("; {} cut off", count) : "";
}

// Returns a text if the document's reduction is impossible here, because the result would be below the wake-up floor.
std::string floor_text(const Plan &plan, Group group, const Drop &drop, double document_pct)
{
    const Figure floor = summary_of(find_cell(plan, group, Call::round_trip, 0, false)).avg_ns;
    if (!floor || !drop.before)
        return "";
    const double wanted = *drop.before * (100 + document_pct) / 100;
    if (wanted >= *floor)
        return "";
    return fmt::format("; {} % would be {}, below the wake-up floor of {}", document_pct, ns_text(wanted),
                       ns_text(*floor));
}

void judge_against_document(const Plan &plan, Group group, Worker worker, bool times, Verdicts &verdicts)
{
    const Cell *before = cell_of(plan, group, true, Worker::workqueue), *after = cell_of(plan, group, true, worker);
    for (const Named &named : {maximum, mean}) {
        const Drop drop(before, after, named);
        verdicts.push_back({drop.judged(times, named.document_pct, Outcome::not_reproduced),
                            fmt::format("the document's {} % of the {}: {} against workqueue, {}, with boosting",
                                        named.document_pct, named.name, name_of(worker), environment_of(group)),
                            drop.text() + floor_text(plan, group, drop, named.document_pct) + cut_off_text(before) +
                                cut_off_text(after)});
    }
}

// Judges the reduction with load from another process group against this project's bar. The bar is for boosted readers
// only, as in the document.
void judge_loaded(const Plan &plan, bool times, bool boost, Verdicts &verdicts)
{
    const Cell *before = cell_of(plan, Group::loaded, boost, Worker::workqueue),
               *after = cell_of(plan, Group::loaded, boost, Worker::kthread);
    for (const Named &named : {maximum, mean}) {
        const Drop drop(before, after, named);
        Outcome outcome = drop.judged(times, named.ours_pct, boost ? Outcome::failed : Outcome::not_reproduced);
        if (outcome == Outcome::held && after != nullptr && !after->cut_off_ns.empty())
            outcome = Outcome::not_judged; // calls of the baseline were cut off, so its true figure is unknown
        verdicts.push_back({outcome,
                            fmt::format("kthread against workqueue, loaded, {}: the {} is lower by {} % or more",
                                        boost ? "with boosting" : "without boosting", named.name, -named.ours_pct),
                            drop.text() + cut_off_text(before) + cut_off_text(after)});
    }
}

// Judges whether a caller that takes the first step itself waits less than the wake-up floor, since it needs no
// wake-up.
void judge_floor(const Plan &plan, bool times, Verdicts &verdicts)
{
    const Cell *floor = find_cell(plan, Group::worker, Call::round_trip, 0, false),
               *ours = cell_of(plan, Group::worker, true, Worker::kthread);
    const Named middle = {"median", &Summary::median_ns, median_of, 0, 0};
    for (const Named &named : {middle, mean}) {
        const Drop drop(floor, ours, named);
        verdicts.push_back(
            {drop.judged(times, 0, Outcome::failed),
             fmt::format("kthread, quiet, with boosting: the {} is below the machine's wake-up floor", named.name),
             "floor " + drop.text()});
    }
}

// Judges the document's claim that boosting alone does not help.  The verdict is "not judged" if the interval contains
// both a halved mean and an unchanged mean.
void judge_boosting_alone(const Plan &plan, Group group, bool times, Verdicts &verdicts)
{
    const Cell *without = cell_of(plan, group, false, Worker::workqueue),
               *with = cell_of(plan, group, true, Worker::workqueue);
    const Drop drop(without, with, mean);
    const bool helps = drop.each && drop.each->high < 1, known = helps || (drop.each && drop.each->low > no_help);
    verdicts.push_back({judged(times && known, !helps, Outcome::not_reproduced),
                        fmt::format("boosting alone does not help: workqueue, {}, the mean is no lower with boosting",
                                    environment_of(group)),
                        drop.text() + cut_off_text(without) + cut_off_text(with)});
}

// Lower and upper bound of the p99.  In `least` a call that was cut off counts as returned at that moment, in `most` as
// endless.
struct P99 {
    Figure least, most;
    std::size_t samples;
    explicit P99(const Cell &cell)
    {
        std::vector<uint64_t> values = cell.all_latencies();
        const std::size_t whole = values.size();
        values.insert(values.end(), cell.cut_off_ns.begin(), cell.cut_off_ns.end());
        samples = values.size();
        least = scaled(Samples(values).quantile(0.99));
        std::fill(values.begin() + static_cast<std::ptrdiff_t>(whole), values.end(),
                  std::numeric_limits<uint64_t>::max());
        most = scaled(Samples(values).quantile(0.99));
    }
};

std::string p99_text(const P99 &p99)
{
    const auto count = [](std::size_t some) { return whole(static_cast<double>(some)); };
    if (!p99.least)
        return fmt::format("{} samples of the {} that p99 needs", count(p99.samples), count(samples_needed(0.99)));
    return fmt::format("{} over {} samples", ns_text(p99.least), count(p99.samples));
}

void judge_p99(const Plan &plan, unsigned readers, bool times, Verdicts &verdicts)
{
    const Cell *cell = find_cell(plan, Group::busy, Call::expedited, readers, true);
    if (cell == nullptr)
        return;
    const P99 p99(*cell);
    const BusyRow row = make_busy_row(*cell);
    const bool holds = p99.most && *p99.most <= p99_limit_ns, fails = p99.least && *p99.least > p99_limit_ns;
    verdicts.push_back({judged(times && (holds || fails), holds, Outcome::failed),
                        fmt::format("{} busy readers, with boosting: p99 is at most 1 ms", readers),
                        fmt::format("{}, max {}{}", p99_text(p99), ns_text(row.max_ns), cut_off_text(cell))});
}

// Compares the medians, provided that the quartiles do not overlap; a median needs 20 calls that returned.
void judge_share(const char *claim, const Cell *before, const Cell *after, double share, bool times, Outcome otherwise,
                 Verdicts &verdicts)
{
    if (before == nullptr || after == nullptr)
        return;
    const Samples theirs(before->all_latencies()), ours(after->all_latencies());
    const Figure p50 = scaled(ours.quantile(0.5)), their_p50 = scaled(theirs.quantile(0.5));
    const bool enough = p50 && their_p50;
    const bool apart = enough && *ours.quantile_of_few(0.75) < *theirs.quantile_of_few(0.25);
    verdicts.push_back({judged(times && enough, apart && *p50 <= *their_p50 * share, otherwise), claim,
                        fmt::format("{} against {} ({} against {} calls{})", ns_text(p50), ns_text(their_p50),
                                    ours.count(), theirs.count(), cut_off_text(before))});
}

void judge_busy(const Plan &plan, bool times, Verdicts &verdicts)
{
    const auto find = [&](unsigned readers, Call call, bool boost) {
        return find_cell(plan, Group::busy, call, readers, boost);
    };
    judge_share("16 busy readers, with boosting: p50 is at most a fiftieth of liburcu-memb's",
                find(16, Call::liburcu, false), find(16, Call::expedited, true), p50_share_of_liburcu, times,
                Outcome::failed, verdicts);
    for (unsigned readers : {16u, 64u})
        judge_p99(plan, readers, times, verdicts);
    judge_share("64 busy readers: with boosting p50 is at most a tenth of that without",
                find(64, Call::expedited, false), find(64, Call::expedited, true), boosted_share, times,
                Outcome::not_reproduced, verdicts);
}

void judge_throughput(const Plan &plan, unsigned cpus, bool times, Verdicts &verdicts)
{
    const std::vector<ThroughputRow> rows = throughput_rows(plan);
    for (const ThroughputRow &row : rows) {
        if (!*row.boost)
            continue;
        const auto readers = static_cast<unsigned>(*row.readers);
        const Cell *with = find_cell(plan, Group::throughput, Call::request, readers, true),
                   *without = find_cell(plan, Group::throughput, Call::request, readers, false);
        Figure without_rate;
        for (const ThroughputRow &other : rows)
            if (!*other.boost && *other.readers == *row.readers)
                without_rate = other.grace_periods_per_s;
        // The bar assumes equal rates of grace periods.  With more readers than CPUs, the run without boosting has a
        // tenth of the rate, so the figure is shown but not judged.
        const bool equal =
            without_rate && row.grace_periods_per_s && *without_rate >= rates_equal * *row.grace_periods_per_s;
        const std::optional<Interval> kept =
            times && without != nullptr ? ratio_interval(with->sections_per_s, without->sections_per_s) : std::nullopt;
        verdicts.push_back(
            {times && equal && kept ? judge_least(*kept, throughput_kept) : Outcome::not_judged,
             fmt::format("{} busy readers ({}), 1,000 requests per second: throughput with boosting is at "
                         "least 95 % of that without",
                         readers, readers == cpus ? "one busy reader per CPU" : "more than CPUs"),
             fmt::format("{}; grace periods per second: {} with, {} without",
                         spread_text(kept, "times", with->sections_per_s.size()), number(row.grace_periods_per_s),
                         number(without_rate))});
    }
}

// Judges whether an isolated reader to which no heavy fence is sent receives no interrupts.
void judge_interrupts(const Plan &plan, bool times, Verdicts &verdicts)
{
    const InterruptCell *control = find_interrupts(plan, Isolation::control);
    for (Isolation isolation : {Isolation::no_membarrier, Isolation::quiescent_state}) {
        const InterruptCell *cell = find_interrupts(plan, isolation);
        if (cell == nullptr || control == nullptr)
            continue;
        const std::optional<Interval> each =
            times ? median_interval(interrupts_per_grace_period(*cell, *control)) : std::nullopt;
        verdicts.push_back(
            {times && each ? judge_most(*each, interrupts_a_gp) : Outcome::not_judged,
             fmt::format("{}: an isolated reader's CPU receives at most 0.1 interrupts per grace period beyond the "
                         "control's",
                         name_of(isolation)),
             fmt::format("{}; {} a second against {}", spread_text(each, "a grace period", cell->experiments.size()),
                         number(median(cell->interrupts_per_s())), number(median(control->interrupts_per_s())))});
    }
}

struct Counts {
    uint64_t errors = 0, calls = 0, refused = 0, boosts_off = 0, boosts_on = 0, ended = 0;
    uint64_t handed_over = 0, by_caller_of_these = 0, turned_here = 0, normal_calls = 0, normal_expedited = 0;

    void add(const Cell &cell)
    {
        errors += cell.sum.errors;
        if (cell.variant.call != Call::expedited && cell.variant.call != Call::request)
            return;
        uint64_t calls_here = cell.cut_off_ns.size();
        for (const auto &experiment : cell.latency_ns)
            calls_here += experiment.size();
        calls += calls_here;
        ended += cell.sum.expedited;
        refused += cell.sum.rt_refused + cell.sum.boost_refused;
        if (!cell.variant.boost)
            boosts_off += cell.sum.boosts;
        else if (cell.group == Group::busy && cell.variant.readers >= 16)
            boosts_on += cell.sum.boosts;
        if (cell.variant.normal) {
            normal_calls += calls_here;
            normal_expedited += cell.sum.expedited;
        } else if (cell.variant.worker == Worker::kthread) {
            turned_here += cell.variant.call == Call::expedited ? cell.sum.by_caller : 0;
        } else {
            handed_over += cell.sum.expedited;
            by_caller_of_these += cell.sum.by_caller;
        }
    }
};

// Judges the counts that must be exact.  Counts are judged in quick and interrupted runs too.
void judge_counts(const Plan &plan, Verdicts &verdicts)
{
    Counts sum;
    for (const Cell &cell : plan.cells)
        sum.add(cell);
    verdicts.push_back({judged(true, sum.errors == 0),
                        "no reader saw a record after the grace period that followed its removal",
                        fmt::format("{} errors", sum.errors)});
    verdicts.push_back({judged(true, sum.calls != 0 && sum.ended != 0), "calls returned and grace periods ended",
                        fmt::format("{} calls, {} expedited grace periods", sum.calls, sum.ended)});
    verdicts.push_back({judged(sum.handed_over != 0, sum.by_caller_of_these == 0 && sum.turned_here != 0),
                        "callers advanced no grace period with workqueue and kthread-only, and some with kthread",
                        fmt::format("{} of {}, and {}", sum.by_caller_of_these, sum.handed_over, sum.turned_here)});
    verdicts.push_back({judged(sum.normal_calls != 0, sum.normal_expedited == 0),
                        "with normal=1 expedited calls waited for normal grace periods",
                        fmt::format("{} calls, {} expedited grace periods", sum.normal_calls, sum.normal_expedited)});
    verdicts.push_back(
        {judged(true, sum.boosts_off == 0 && sum.boosts_on != 0),
         "readers were boosted where boosting is on and they outnumber the CPUs, and nowhere else",
         fmt::format("{} times with 16 readers and more, {} times with boosting off", sum.boosts_on, sum.boosts_off)});
    verdicts.push_back({judged(true, sum.refused == 0), "the kernel refused no real-time scheduling and no boosting",
                        fmt::format("{} refusals", sum.refused)});
}

} // namespace

Verdicts judge(const Plan &plan, unsigned cpus, bool judge_times)
{
    Verdicts verdicts;
    judge_counts(plan, verdicts);
    judge_floor(plan, judge_times, verdicts);
    for (bool boost : {true, false})
        judge_loaded(plan, judge_times, boost, verdicts);
    for (Group group : {Group::worker, Group::loaded}) {
        judge_boosting_alone(plan, group, judge_times, verdicts);
        judge_against_document(plan, group, Worker::kthread_only, judge_times, verdicts);
    }
    judge_against_document(plan, Group::worker, Worker::kthread, judge_times, verdicts);
    judge_busy(plan, judge_times, verdicts);
    judge_throughput(plan, cpus, judge_times, verdicts);
    judge_interrupts(plan, judge_times, verdicts);
    return verdicts;
}

} // namespace lab::expedited

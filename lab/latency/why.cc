// SPDX-License-Identifier: MIT OR Apache-2.0
// Assigns causes to late samples, and makes rows and verdicts of them.
#include "latency/why.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include "latency/table1.h"
#include "measure/quantile.h"
#include "report/table.h"

namespace lab::latency
{
namespace
{

constexpr std::size_t at(Cause cause)
{
    return static_cast<std::size_t>(cause);
}

// Divides the lateness of a sample among its causes.
class Allotment
{
  public:
    explicit Allotment(uint32_t late_ns) : left_(late_ns)
    {
    }
    uint32_t take(Cause cause, double ns)
    {
        const auto part = static_cast<uint32_t>(std::clamp<double>(ns, 0, left_));
        shares_[at(cause)] += part;
        left_ -= part;
        return part;
    }
    Shares rest()
    {
        take(Cause::not_explained, left_);
        return shares_;
    }

  private:
    uint32_t left_;
    Shares shares_{};
};

// Work and wake-ups explain at most this multiple of their usual duration, which is a median.
constexpr double usual_times = 2;

uint64_t count_main(const LateSummary &variant, Cause cause)
{
    return static_cast<uint64_t>(std::count_if(variant.late.begin(), variant.late.end(),
                                               [&](const Shares &shares) { return main_cause(shares) == cause; }));
}

double sum_of(const LateSummary &variant, Cause cause)
{
    double sum = 0;
    for (const Shares &shares : variant.late)
        sum += shares[at(cause)];
    return sum;
}

double lateness_of(const LateSummary &variant)
{
    double sum = 0;
    for (std::size_t cause = 0; cause < cause_count; cause++)
        sum += sum_of(variant, static_cast<Cause>(cause));
    return sum;
}

WhyRow make_row(const LateSummary &variant, Cause cause)
{
    std::vector<uint64_t> each;
    for (const Shares &shares : variant.late)
        if (shares[at(cause)] >= share_least_ns)
            each.push_back(shares[at(cause)]);
    WhyRow row;
    row.label = variant.label;
    row.workload = variant.workload;
    row.policy = variant.policy;
    row.cause = cause_name(cause);
    row.samples = static_cast<double>(variant.samples);
    row.late = static_cast<double>(variant.late.size());
    row.with_cause = static_cast<double>(each.size());
    row.main = static_cast<double>(count_main(variant, cause));
    const Samples shares(std::move(each));
    row.share_us_p50 = scaled(shares.quantile_of_few(0.5), 1e-3);
    row.share_us_max = scaled(shares.max(), 1e-3);
    row.of_lateness = ratio(sum_of(variant, cause), lateness_of(variant));
    return row;
}

std::string too_few(uint64_t late)
{
    return fmt::format("{} late samples of the {} that this verdict needs", whole(static_cast<double>(late)),
                       late_least);
}

// Judges, over all workloads, how often callbacks are the main cause of a late sample under a policy of this project.
void judge_ours(const std::vector<LateSummary> &variants, const std::string &policy, bool times, Verdicts &verdicts)
{
    uint64_t samples = 0, mainly = 0;
    for (const LateSummary &variant : variants) {
        if (variant.policy != policy || !variant.fifo)
            continue;
        samples += variant.samples;
        mainly += count_main(variant, Cause::callbacks);
    }
    if (samples == 0)
        return;
    const auto needed = static_cast<uint64_t>(10 / callbacks_main_bar);
    const std::string claim = fmt::format("{}: at most 1 in {} samples is late mainly because of callbacks", policy,
                                          whole(1 / callbacks_main_bar));
    const std::string figures =
        samples < needed
            ? fmt::format("{} samples of the {} that this verdict needs", whole(static_cast<double>(samples)),
                          whole(static_cast<double>(needed)))
            : fmt::format("{} of {}", whole(static_cast<double>(mainly)), whole(static_cast<double>(samples)));
    verdicts.push_back({judged(times && samples >= needed,
                               static_cast<double>(mainly) <= callbacks_main_bar * static_cast<double>(samples)),
                        claim, figures});
}

// Adds the verdict on the unbounded flood: callbacks are the main cause of most samples later than table1_goal_us.
void judge_stock(const std::vector<LateSummary> &variants, bool times, Verdicts &verdicts)
{
    for (const LateSummary &variant : variants) {
        if (variant.label != "flood unbounded")
            continue;
        uint64_t late = 0, mainly = 0;
        for (const Shares &shares : variant.late) {
            const bool beyond = std::accumulate(shares.begin(), shares.end(), 0.0) > table1_goal_us * 1000;
            late += beyond;
            mainly += beyond && main_cause(shares) == Cause::callbacks;
        }
        verdicts.push_back({judged(times && late >= late_least, 2 * mainly > late, Outcome::not_reproduced),
                            fmt::format("unbounded in the flood: callbacks are the main cause of most samples that are "
                                        "later than {:g} µs",
                                        table1_goal_us),
                            late < late_least ? too_few(late)
                                              : fmt::format("{} of {}", whole(static_cast<double>(mainly)),
                                                            whole(static_cast<double>(late)))});
    }
}

// Judges the patch of 2004: it attributes other delays to "consecutive interrupts at inopportune moments".
void judge_interrupts(const std::vector<LateSummary> &variants, bool times, Verdicts &verdicts)
{
    uint64_t others = 0, several = 0;
    for (const LateSummary &variant : variants) {
        others += variant.others;
        several += variant.several_interrupts;
    }
    verdicts.push_back(
        {judged(times && others >= late_least, 2 * several > others, Outcome::not_reproduced),
         "2004: most late samples that callbacks do not explain have consecutive timer interrupts (two or more)",
         others < late_least
             ? too_few(others)
             : fmt::format("{} of {}", whole(static_cast<double>(several)), whole(static_cast<double>(others)))});
}

void judge_explained(const std::vector<LateSummary> &variants, bool times, Verdicts &verdicts)
{
    uint64_t late = 0;
    double all = 0, rest = 0;
    for (const LateSummary &variant : variants) {
        late += variant.late.size();
        all += lateness_of(variant);
        rest += sum_of(variant, Cause::not_explained);
    }
    const bool enough = late >= late_least && all > 0;
    verdicts.push_back(
        {judged(times && enough, all - rest >= explained_bar * all, Outcome::not_reproduced),
         fmt::format("the causes explain {:.0f} % of the late samples' lateness or more", 100 * explained_bar),
         enough ? fmt::format("{:.1f} % of {} late samples", 100 * (1 - rest / all), whole(static_cast<double>(late)))
                : too_few(late)});
}

void judge_instrument(const std::vector<LateSummary> &variants, bool times, Verdicts &verdicts)
{
    const InstrumentRow row = make_instrument_row(variants);
    const std::string claim =
        fmt::format("the measurement itself takes at most {:.0f} % of the loop's time", 100 * instrument_bar);
    if (!row.of_loop_time || *row.readings == 0) {
        verdicts.push_back({Outcome::not_judged, claim, "0 readings"});
        return;
    }
    verdicts.push_back({judged(times, *row.of_loop_time <= instrument_bar), claim,
                        fmt::format("{} readings of {} ns: {:.1f} %", whole(row.readings), number(row.reading_ns),
                                    100 * *row.of_loop_time)});
}

} // namespace

const char *cause_name(Cause cause)
{
    constexpr const char *names[cause_count] = {"stolen time",
                                                "callbacks of other threads on the CPU",
                                                "preempted (involuntary switch)",
                                                "ready, waiting for the CPU",
                                                "a lock",
                                                "page faults",
                                                "callbacks",
                                                "timer interrupts",
                                                "the library, apart from callbacks",
                                                "the loop's own work",
                                                "timer and wake-up",
                                                "not explained"};
    return names[at(cause)];
}

Shares explain(const LateSample &sample, const UsualTimes &usual)
{
    Allotment late(sample.late_ns);
    late.take(Cause::stolen, sample.stolen_ns);
    const double elsewhere = std::min<double>(sample.waited_ns, sample.callbacks_elsewhere * usual.callback_ns);
    late.take(Cause::callbacks_elsewhere, elsewhere);
    late.take(sample.involuntary != 0 ? Cause::switches : Cause::waiting, sample.waited_ns - elsewhere);
    // reading a page from a disk blocks the thread as a lock does
    late.take(sample.major_faults != 0 ? Cause::faults : Cause::lock, sample.blocked_ns);
    late.take(Cause::faults, sample.faults * usual.fault_ns);
    late.take(Cause::callbacks, sample.own_ns);
    late.take(Cause::interrupts, sample.interrupts * usual.interrupt_ns);
    late.take(Cause::library, static_cast<double>(sample.calls_ns) - sample.own_ns);
    late.take(Cause::work, std::min<double>(sample.work_ns, usual_times * usual.work_ns));
    if (sample.asleep)
        late.take(Cause::wake_up, usual_times * usual.wake_ns);
    return late.rest();
}

Cause main_cause(const Shares &shares)
{
    return static_cast<Cause>(std::max_element(shares.begin(), shares.end()) - shares.begin());
}

LateSummary summarize(const Variant &variant, const VariantRecord &record, double interrupt_ns, double work_ns)
{
    const Totals &sum = record.sum();
    std::vector<uint64_t> wakes(record.wakes.count());
    for (std::size_t i = 0; i < wakes.size(); i++)
        wakes[i] = record.wakes[i];
    const double wake_ns = scaled(Samples(std::move(wakes)).quantile_of_few(0.5)).value_or(0);
    const UsualTimes usual = {interrupt_ns, static_cast<double>(sum.fault_ns), sum.callback_ns, wake_ns, work_ns};
    LateSummary summary;
    summary.label = variant.label();
    summary.workload = variant.workload;
    summary.policy = variant.policy->name;
    summary.fifo = sum.fifo;
    summary.samples = record.loop.count();
    for (std::size_t i = 0; i < record.late.count(); i++) {
        const LateSample &sample = record.late[i];
        const Shares &shares = summary.late.emplace_back(explain(sample, usual));
        const bool other = main_cause(shares) != Cause::callbacks;
        summary.others += other;
        summary.several_interrupts += other && sample.interrupts >= 2;
    }
    summary.readings = sum.witness_readings;
    summary.readings_ns = sum.witness_ns;
    summary.wall_ns = sum.wall_ns;
    summary.stolen_is_known = sum.stolen_is_known;
    summary.waiting_is_known = sum.waiting_is_known;
    return summary;
}

std::vector<WhyRow> make_why_rows(const std::vector<LateSummary> &variants)
{
    std::vector<WhyRow> rows;
    for (const LateSummary &variant : variants) {
        for (std::size_t i = 0; i < cause_count; i++) {
            const auto cause = static_cast<Cause>(i);
            WhyRow row = make_row(variant, cause);
            if (*row.with_cause != 0 || cause == Cause::not_explained)
                rows.push_back(row);
        }
    }
    return rows;
}

InstrumentRow make_instrument_row(const std::vector<LateSummary> &variants)
{
    double readings = 0, readings_ns = 0, wall_ns = 0;
    InstrumentRow row;
    row.stolen_is_known = row.waiting_is_known = true;
    for (const LateSummary &variant : variants) {
        readings += static_cast<double>(variant.readings);
        readings_ns += static_cast<double>(variant.readings_ns);
        wall_ns += static_cast<double>(variant.wall_ns);
        row.stolen_is_known = *row.stolen_is_known && variant.stolen_is_known;
        row.waiting_is_known = *row.waiting_is_known && variant.waiting_is_known;
    }
    row.readings = readings;
    row.reading_ns = ratio(readings_ns, readings);
    row.of_loop_time = ratio(readings_ns, wall_ns);
    return row;
}

std::string why_text(const std::vector<LateSummary> &variants, double late_us)
{
    const std::vector<WhyRow> rows = make_why_rows(variants);
    std::string text = fmt::format(
        "Why samples were more than {:g} µs late.  with it: late samples to which the cause contributes {:g} µs or "
        "more; mainly: late samples\nwith this main cause; share: contribution of the cause, microseconds; of all: the "
        "cause's part of the lateness of all late samples.\n\n{}\n",
        late_us, share_least_ns / 1000.0,
        table_text<WhyRow>(0, rows, [](const WhyRow &row) -> std::string { return row.label; }));
    const InstrumentRow row = make_instrument_row(variants);
    text += fmt::format("Cost of this measurement: {} readings of {} ns, {} % of the loop's time.\n",
                        whole(row.readings), number(row.reading_ns), number(scaled(row.of_loop_time, 100)));
    if (!*row.stolen_is_known)
        text += "Stolen time is not known: perf_event_open(2) is refused (kernel.perf_event_paranoid above 2).\n";
    if (!*row.waiting_is_known)
        text += "Waiting for the CPU is not known: the kernel has no /proc/thread-self/schedstat.\n";
    return text;
}

Verdicts judge_why(const std::vector<LateSummary> &variants, bool judge_times)
{
    Verdicts verdicts;
    if (variants.empty())
        return verdicts;
    for (const char *policy : {"inline", "daemon"})
        judge_ours(variants, policy, judge_times, verdicts);
    judge_stock(variants, judge_times, verdicts);
    judge_interrupts(variants, judge_times, verdicts);
    judge_explained(variants, judge_times, verdicts);
    judge_instrument(variants, judge_times, verdicts);
    return verdicts;
}

} // namespace lab::latency

// SPDX-License-Identifier: MIT OR Apache-2.0
// The overhead experiment's verdicts.
#include "overhead/checks.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/interval.h"
#include "report/table.h"

namespace lab::overhead
{
namespace
{

// Two variants did the same work if the ratio of their misses is between 1/1.15 and 1.15.
constexpr double same_work_within = 1.15;
constexpr const char *rare = "rare", *frequent = "frequent";

// A figure of one row compared with that of another row in the same environment, round by round.
struct Compared {
    const Row *before = nullptr, *after = nullptr;
    std::vector<double> before_rounds, after_rounds; // the figures of each round that has both
    std::optional<Interval> ratio;
};

Compared compare(const CheckInput &input, const char *environment, const std::string &before, const std::string &after,
                 Figure RoundFigures::*figure)
{
    Compared all;
    all.before = find_row(input.rows, before, environment);
    all.after = find_row(input.rows, after, environment);
    if (all.before == nullptr || all.after == nullptr)
        return all;
    for (std::size_t i = 0; i < std::min(all.before->each.size(), all.after->each.size()); i++) {
        const Figure one = all.before->each[i].*figure, other = all.after->each[i].*figure;
        if (!one || !other || *one <= 0)
            continue;
        all.before_rounds.push_back(*one);
        all.after_rounds.push_back(*other);
    }
    all.ratio = ratio_interval(all.after_rounds, all.before_rounds);
    return all;
}

// "41.2 ns against 55.0, -25.1 % (-30.2 to -20.4)": medians of the rounds, and the change with its interval.
std::string text_of(const Compared &compared)
{
    return fmt::format("{} ns against {}, {}", number(median(compared.after_rounds)),
                       number(median(compared.before_rounds)),
                       change_text(compared.ratio, compared.after_rounds.size()));
}

// The number of profile samples on which a comparison is based.
struct Evidence {
    double samples = 0;
    bool enough() const
    {
        return samples >= samples_to_judge;
    }
    // Returns a note that states how few samples there are; empty if there are enough samples.
    std::string text(const char *where) const
    {
        return enough() ? ""
                        : fmt::format("; only {} of the {} profile samples needed in {}", whole(samples),
                                      whole(samples_to_judge), where);
    }
};

// Returns the smaller of the two rows' numbers of samples; 0 if a row or its number is missing.
Evidence evidence_of(const Compared &compared, Count Row::*samples)
{
    if (compared.before == nullptr || compared.after == nullptr)
        return {};
    return {std::min((compared.before->*samples).value_or(0), (compared.after->*samples).value_or(0))};
}

std::string cpu_text(const CheckInput &input, const char *environment, const std::string &base,
                     const std::string &engine)
{
    return text_of(compare(input, environment, base, engine, &RoundFigures::cpu_ns));
}

// Judges the total CPU time with the default driver, including free() in callbacks and the library's threads.
void judge_cpu(const CheckInput &input, const char *environment, const char *claim, Outcome otherwise,
               Verdicts &verdicts)
{
    const Compared cpu = compare(input, environment, base_counted_chains, "kthread", &RoundFigures::cpu_ns);
    verdicts.push_back({judge_less(cpu.ratio, input.judge_times, otherwise), claim,
                        fmt::format("CPU per packet: {}; against one lock {}", text_of(cpu),
                                    cpu_text(input, environment, base_one_lock, "kthread"))});
}

std::vector<const Row *> frequent_rows(const CheckInput &input)
{
    std::vector<const Row *> rows;
    for (const Row &row : input.rows)
        if (row.environment == frequent)
            rows.push_back(&row);
    return rows;
}

// Judges whether a ratio is between 1/within and within.  Held: its whole interval is inside this range.  Failed: the
// whole interval is outside.  Otherwise not judged.
Outcome judge_near(const Interval &ratio, double within)
{
    if (ratio.low > within || ratio.high < 1 / within)
        return Outcome::failed;
    return ratio.low >= 1 / within && ratio.high <= within ? Outcome::held : Outcome::not_judged;
}

// Judges that each variant has as many misses as the first variant, by the ratios of their rounds.
void judge_rounds_of_work(const CheckInput &input, const std::vector<const Row *> &rows, const std::string &claim,
                          Verdicts &verdicts)
{
    Outcome outcome = Outcome::held;
    std::vector<std::string> others;
    for (const Row *row : rows) {
        if (row == rows.front())
            continue;
        const Compared compared =
            compare(input, frequent, rows.front()->label, row->label, &RoundFigures::misses_per_packet);
        const Outcome one = compared.ratio ? judge_near(*compared.ratio, same_work_within) : Outcome::not_judged;
        if (one == Outcome::held)
            continue;
        if (outcome != Outcome::failed)
            outcome = one;
        others.push_back(fmt::format("{} {}", row->label, change_text(compared.ratio, compared.after_rounds.size())));
    }
    verdicts.push_back({outcome, claim,
                        others.empty() ? fmt::format("{} variants within {:.0f} % of {}, round by round", rows.size(),
                                                     100 * (same_work_within - 1), rows.front()->label)
                                       : fmt::format("against {}: {}", rows.front()->label, fmt::join(others, ", "))});
}

// Judges by counts that all variants did the same work.
void judge_same_work(const CheckInput &input, Verdicts &verdicts)
{
    const std::string claim = "all variants did the same work with frequent updates, by misses per packet";
    const std::vector<const Row *> rows = frequent_rows(input);
    double misses = misses_to_judge;
    for (const Row *row : rows)
        misses = std::min(misses, row->misses.value_or(0));
    if (rows.size() < 2)
        verdicts.push_back({Outcome::not_judged, claim,
                            fmt::format("only {} of the 2 variants that a comparison needs", rows.size())});
    else if (misses < misses_to_judge)
        verdicts.push_back(
            {Outcome::not_judged, claim,
             fmt::format("only {} of the {} misses that each variant needs", whole(misses), whole(misses_to_judge))});
    else
        judge_rounds_of_work(input, rows, claim, verdicts);
}

// Judges that each engine that deleted entries also invoked callbacks.
void judge_invoked(const CheckInput &input, Verdicts &verdicts)
{
    bool invoked = true;
    std::vector<std::string> counts, idle;
    for (const Row *row : frequent_rows(input)) {
        if (!row->callbacks_per_s)
            continue;
        if (row->deleted.value_or(0) == 0) {
            idle.push_back(row->label);
            continue;
        }
        invoked = invoked && *row->callbacks_per_s > 0;
        counts.push_back(fmt::format("{} {}", row->label, number(row->callbacks_per_s)));
    }
    std::string figures = fmt::format("{} engines", counts.size());
    if (!counts.empty())
        figures += fmt::format(": {} a second", fmt::join(counts, ", "));
    if (!idle.empty())
        figures += fmt::format("; 0 entries deleted by {}", fmt::join(idle, ", "));
    verdicts.push_back({judged(!counts.empty() && (idle.empty() || !invoked), invoked),
                        "every engine invoked callbacks while it was measured", figures});
}

// Returns the published sums: "base 4,486, rcu_ltimer 2,045, ...".
std::string published_text(const char *environment)
{
    std::vector<std::string> parts;
    for (const PublishedEngine &engine : published_engines())
        parts.push_back(fmt::format("{} {}", engine.name, number(published_sum(environment, engine))));
    return fmt::format("{} ticks", fmt::join(parts, ", "));
}

void conclude_updates_more_than_rare(const CheckInput &input, Verdicts &verdicts)
{
    const Compared net = compare(input, frequent, base_counted_chains, "ltimer", &RoundFigures::document_ns);
    const Evidence evidence = evidence_of(net, &Row::document_samples);
    verdicts.push_back(
        {judge_less(net.ratio, input.judge_times && evidence.enough()),
         "1. RCU can pay although updates are frequent: ltimer's look-up and RCU work take less CPU time than "
         "base's look-up",
         fmt::format("{}{}; CPU per packet: {}; 2002: {}", text_of(net), evidence.text("look-up and RCU work"),
                     cpu_text(input, frequent, base_counted_chains, "ltimer"), published_text(frequent))});
}

// The published conclusion says "most"; here that is two of the three engines.
void conclude_rare(const CheckInput &input, Verdicts &verdicts)
{
    bool known = true;
    std::size_t ahead = 0, engines = 0;
    std::vector<std::string> figures;
    for (const PublishedEngine &engine : published_engines()) {
        if (engine.label == std::string(base_counted_chains))
            continue;
        const Compared net = compare(input, rare, base_counted_chains, engine.label, &RoundFigures::document_ns);
        const Evidence evidence = evidence_of(net, &Row::document_samples);
        engines++;
        known = known && net.ratio && evidence.enough();
        ahead += judge_less(net.ratio, true) == Outcome::held ? 1 : 0;
        figures.push_back(fmt::format("{} {}{}", engine.label, text_of(net), evidence.text("look-up and RCU work")));
    }
    verdicts.push_back(
        {judged(input.judge_times && known, 2 * ahead > engines, Outcome::not_reproduced),
         "2. when updates are rare most engines win: look-up and RCU work take less CPU time than base's look-up",
         fmt::format("{} of {}: {}; 2002: {}", ahead, engines, fmt::join(figures, "; "), published_text(rare))});
}

void conclude_global_queue(const CheckInput &input, const char *where, const char *own_queues, const char *global_queue,
                           Verdicts &verdicts)
{
    const Compared cost = compare(input, frequent, own_queues, global_queue, &RoundFigures::rcu_ns);
    const Evidence evidence = evidence_of(cost, &Row::rcu_samples);
    verdicts.push_back(
        {judge_more(cost.ratio, input.judge_times && evidence.enough()),
         fmt::format("3. global queues are out: poll with its global queue costs more than poll with "
                     "one queue per thread, {}",
                     where),
         fmt::format("RCU work per packet: {}{}; CPU per packet: {}; 2002: rcu_poll 10,408 ticks, not "
                     "measured with one queue per CPU",
                     text_of(cost), evidence.text("RCU work"), cpu_text(input, frequent, own_queues, global_queue))});
}

void conclude_global_counter(const CheckInput &input, Verdicts &verdicts)
{
    const Compared cost = compare(input, frequent, "sched", "sched/global counter", &RoundFigures::call_rcu_ns);
    const Evidence evidence = evidence_of(cost, &Row::call_rcu_samples);
    verdicts.push_back({judge_more(cost.ratio, input.judge_times && evidence.enough()),
                        "4. the global atomic counter makes call_rcu() slower: sched with the counter against sched",
                        fmt::format("queueing a callback: {}{}; CPU per packet: {}; 2002: call_rcu 1,147 ticks of "
                                    "rcu_sched, 262 of rcu_ltimer",
                                    text_of(cost), evidence.text("call_rcu()"),
                                    cpu_text(input, frequent, "sched", "sched/global counter"))});
}

} // namespace

Verdicts judge_bars(const CheckInput &input)
{
    Verdicts verdicts;
    judge_same_work(input, verdicts);
    judge_invoked(input, verdicts);
    judge_cpu(input, rare, "updates rare: kthread, the default driver, takes less CPU per packet than base",
              Outcome::failed, verdicts);
    return verdicts;
}

Verdicts judge_conclusions(const CheckInput &input)
{
    Verdicts verdicts;
    conclude_updates_more_than_rare(input, verdicts);
    judge_cpu(input, frequent,
              "   in total CPU time: kthread, the default driver, takes less CPU per packet than base with updates "
              "frequent",
              Outcome::not_reproduced, verdicts);
    conclude_rare(input, verdicts);
    conclude_global_queue(input, "with all CPUs forwarding", "poll", "poll/global queue", verdicts);
    conclude_global_queue(input, "with a CPU kept free", "poll/free CPU", "poll/global queue, free CPU", verdicts);
    conclude_global_counter(input, verdicts);
    return verdicts;
}

} // namespace lab::overhead

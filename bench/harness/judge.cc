// SPDX-License-Identifier: MIT OR Apache-2.0
// Medians and verdicts: the rounds vote, and an unclear vote is reported as undecided.
#include "harness/judge.h"

#include <algorithm>
#include <cmath>

namespace bench
{

constexpr double clear_share = 0.8; // of the rounds

// Returns a quantile of sorted values by the nearest rank; the median of an even number of values is the lower one of
// the two.
static double rank(const std::vector<double> &sorted, double share)
{
    auto at = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
    return sorted[std::clamp<std::size_t>(at, 1, sorted.size()) - 1];
}

Spread spread_of(std::vector<double> values)
{
    if (values.empty())
        return {};
    std::sort(values.begin(), values.end());
    return {rank(values, 0.1), rank(values, 0.5), rank(values, 0.9)};
}

const char *verdict_name(Verdict verdict)
{
    switch (verdict) {
    case Verdict::held:
        return "held";
    case Verdict::missed:
        return "MISSED";
    case Verdict::undecided:
        return "undecided";
    case Verdict::shown:
        return "-";
    case Verdict::not_judged:
        return "not judged";
    }
    return "";
}

static std::vector<double> values_of(const std::vector<Measured> &rounds, double Measured::*member)
{
    std::vector<double> values;
    for (const Measured &measured : rounds)
        values.push_back(measured.*member);
    return values;
}

static Verdict vote(double median, unsigned within, unsigned rounds, double limit)
{
    const double share = static_cast<double>(within) / rounds;
    if (median <= limit && share >= clear_share)
        return Verdict::held;
    if (median > limit && share <= 1 - clear_share)
        return Verdict::missed;
    return Verdict::undecided;
}

static std::vector<double> ratios(const std::vector<double> &above, const std::vector<double> &below)
{
    std::vector<double> values;
    for (std::size_t i = 0; i < above.size(); i++)
        if (below[i] != 0)
            values.push_back(above[i] / below[i]);
    return values;
}

static std::vector<Beside> judge_beside(const Result &result, bool itself)
{
    std::vector<Beside> beside;
    for (std::size_t side = itself ? 1 : 2; side < result.sides.size(); side++) {
        const std::vector<double> values = values_of(result.sides[side], &Measured::value);
        const std::vector<double> ratio = itself ? ratios(values, values_of(result.sides[side], &Measured::reference))
                                                 : ratios(values_of(result.sides[0], &Measured::value), values);
        beside.push_back({result.figure->sides[side].peer->name, spread_of(values), spread_of(ratio)});
    }
    return beside;
}

// The value that the bar limits, for each round.
static std::vector<double> measure_of(BarKind kind, const std::vector<double> &ours, const std::vector<double> &peer,
                                      const std::vector<double> &ratio)
{
    std::vector<double> above = ours;
    for (std::size_t i = 0; i < ours.size(); i++)
        above[i] -= peer[i];
    return kind == BarKind::at_most ? ours : kind == BarKind::above_reference ? above : ratio;
}

Judged judge(const Result &result, bool quick)
{
    const Figure &figure = *result.figure;
    Judged judged{};
    judged.result = &result;
    judged.rounds = static_cast<unsigned>(result.sides[0].size());
    if (judged.rounds == 0)
        return judged;
    const bool itself = figure.bar.is_to_itself();
    const std::vector<double> ours = values_of(result.sides[0], &Measured::value);
    const std::vector<double> peer =
        itself ? values_of(result.sides[0], &Measured::reference) : values_of(result.sides[1], &Measured::value);
    const std::vector<double> ratio = ratios(ours, peer);
    judged.ours = spread_of(ours);
    judged.peer = spread_of(peer);
    judged.ratio = spread_of(ratio);
    judged.beside = judge_beside(result, itself);
    if (!figure.bar.judged())
        return judged;
    const std::vector<double> measure = measure_of(figure.bar.kind, ours, peer, ratio);
    for (double value : measure)
        judged.within += value <= figure.bar.limit;
    judged.verdict = vote(spread_of(measure).median, judged.within, judged.rounds, figure.bar.limit);
    if (quick && !figure.counts)
        judged.verdict = Verdict::not_judged;
    return judged;
}

} // namespace bench

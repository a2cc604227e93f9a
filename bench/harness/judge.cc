// SPDX-License-Identifier: MIT OR Apache-2.0
// Medians and verdicts: the rounds vote, and a vote that is not clear is said to be none.
#include "harness/judge.h"

#include <algorithm>
#include <cmath>

namespace bench
{

constexpr double clear_share = 0.8; // of the rounds

// The nearest rank of sorted values; for the median of an even number the lower one.
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

Judged judge(const Result &result, bool quick)
{
    const Figure &figure = *result.figure;
    Judged judged{};
    judged.result = &result;
    judged.rounds = static_cast<unsigned>(result.sides[0].size());
    if (judged.rounds == 0)
        return judged;
    const bool itself = figure.bar.kind == BarKind::ratio_to_reference;
    const std::vector<double> ours = values_of(result.sides[0], &Measured::value);
    const std::vector<double> peer =
        itself ? values_of(result.sides[0], &Measured::reference) : values_of(result.sides[1], &Measured::value);
    std::vector<double> ratio;
    for (std::size_t i = 0; i < ours.size(); i++)
        if (peer[i] != 0)
            ratio.push_back(ours[i] / peer[i]);
    judged.ours = spread_of(ours);
    judged.peer = spread_of(peer);
    judged.ratio = spread_of(ratio);
    for (std::size_t side = 2; side < result.sides.size(); side++)
        judged.other.push_back(spread_of(values_of(result.sides[side], &Measured::value)));
    if (figure.bar.kind == BarKind::none)
        return judged;
    const std::vector<double> &measure = figure.bar.kind == BarKind::at_most ? ours : ratio;
    for (double value : measure)
        judged.within += value <= figure.bar.limit;
    judged.verdict = vote(spread_of(measure).median, judged.within, judged.rounds, figure.bar.limit);
    if (quick && !figure.counts)
        judged.verdict = Verdict::not_judged;
    return judged;
}

} // namespace bench

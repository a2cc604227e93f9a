// SPDX-License-Identifier: MIT OR Apache-2.0
// From the rounds of a figure to its medians, their spread, and a verdict.
#pragma once

#include "harness/runner.h"

namespace bench
{

struct Spread {
    double low = 0, median = 0, high = 0; // 10 %, 50 %, 90 % of the rounds
};
Spread spread_of(std::vector<double> values);

enum class Verdict {
    held,      // the median is within the bar, and so are four rounds of five
    missed,    // the median is outside, and so are four rounds of five
    undecided, // the rounds do not agree
    shown,     // no bar
    not_judged // a time in a quick run: too short to judge
};
const char *verdict_name(Verdict verdict);

struct Judged {
    const Result *result;
    Spread ours, peer;         // of the side that the bar means, or of the reference
    Spread ratio;              // ours / peer, round by round
    std::vector<Spread> other; // of the sides beyond
    unsigned rounds = 0, within = 0;
    Verdict verdict = Verdict::shown;
};

Judged judge(const Result &result, bool quick);

} // namespace bench

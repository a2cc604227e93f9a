// SPDX-License-Identifier: MIT OR Apache-2.0
// Computes the medians of a figure, their spread, and the verdict, from its rounds.
#pragma once

#include "harness/side.h"

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

// A further side: its value, and ours divided by it; if the bar is against the reference, its value divided by its
// own reference.
struct Beside {
    const char *name;
    Spread value, ratio;
};

struct Judged {
    const Result *result;
    Spread ours, peer; // @peer: of the side that the bar is against, or of the reference
    Spread ratio;      // ours / peer, round by round
    std::vector<Beside> beside;
    unsigned rounds = 0, within = 0;
    Verdict verdict = Verdict::shown;
};

Judged judge(const Result &result, bool quick);

} // namespace bench

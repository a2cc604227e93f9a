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
    held,      // the median and four rounds of five are within the bar
    missed,    // the median and four rounds of five are outside the bar
    undecided, // neither: the rounds disagree
    shown,     // the figure has no bar
    not_judged // the figure is a time, and a quick run is too short to judge times
};
const char *verdict_name(Verdict verdict);

// A further side: its value, and the first side's value divided by it. If the bar compares with the reference, `ratio`
// is the side's value divided by its own reference.
struct Beside {
    const char *name;
    Spread value, ratio;
};

struct Judged {
    const Result *result;
    Spread ours, peer; // @peer: of the side or the reference with which the bar compares
    Spread ratio;      // ours divided by peer, in each round
    std::vector<Beside> beside;
    unsigned rounds = 0, within = 0;
    Verdict verdict = Verdict::shown;
};

Judged judge(const Result &result, bool quick);

} // namespace bench

// SPDX-License-Identifier: MIT OR Apache-2.0
// A figure: what is measured, by which sides, and its bar.
#pragma once

#include <cmath>

#include "harness/peer.h"

namespace bench
{

enum class BarKind {
    none,               // shown, not judged
    ratio_to_peer,      // the first side's value divided by the second side's, in each round
    ratio_to_reference, // the first side's value divided by its reference, in each round
    at_most,            // the first side's value, in the figure's unit
    above_reference,    // the first side's value less its reference of the same round, in the figure's unit
};

struct Bar {
    BarKind kind = BarKind::none;
    double limit = 0;
    // Does the bar compare the first side with its own reference?
    bool is_to_itself() const
    {
        return kind == BarKind::ratio_to_reference || kind == BarKind::above_reference;
    }
    // Whether the figure gets a verdict. With an infinite limit only the ratio is shown.
    bool judged() const
    {
        return kind != BarKind::none && std::isfinite(limit);
    }
};

struct Side {
    const Peer *peer;
    Settings settings;
};

struct Figure {
    std::string name;
    const char *what;
    const char *unit;
    Kind kind;
    Bar bar;
    std::vector<Side> sides; // rtrcu, the side with which the bar compares it, further sides
    bool counts = false;     // a count, not a time: judged in quick runs too
    bool fresh = false;      // a process of its own for every round
    std::size_t threads = 0; // number of threads of the figures crowd-*
    unsigned every = 1;      // the figure is measured in every n-th round
};

const std::vector<Figure> &all_figures();

} // namespace bench

// SPDX-License-Identifier: MIT OR Apache-2.0
// A figure: what is measured, by which sides, and its bar.
#pragma once

#include <cmath>

#include "harness/peer.h"

namespace bench
{

enum class BarKind {
    none,               // shown, not judged
    ratio_to_peer,      // ours / the second side's of the same round
    ratio_to_reference, // ours / the reference of the same round
    at_most,            // ours, in the figure's unit
    above_reference,    // ours less the reference of the same round, in the figure's unit
};

struct Bar {
    BarKind kind = BarKind::none;
    double limit = 0;
    // Is the bar against our own reference?
    bool is_to_itself() const
    {
        return kind == BarKind::ratio_to_reference || kind == BarKind::above_reference;
    }
    // With an infinite limit the ratio is shown, and nothing is judged.
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
    std::vector<Side> sides; // ours, then the side that the bar is against, then others for comparison
    bool counts = false;     // a count, not a time: judged in quick runs too
    bool fresh = false;      // a process of its own for every round
    std::size_t threads = 0; // of the figures crowd-*
    unsigned every = 1;      // takes part in one round of this number
};

const std::vector<Figure> &all_figures();

} // namespace bench

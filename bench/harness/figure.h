// SPDX-License-Identifier: MIT OR Apache-2.0
// A figure: what is measured, by which sides, and the bar it is held to.
#pragma once

#include <cmath>

#include "harness/peer.h"

namespace bench
{

enum class BarKind {
    none,               // shown, not judged
    ratio_to_peer,      // ours / the second side's of the same round
    ratio_to_reference, // ours / what the same round gave without the thing
    at_most,            // ours, in the figure's unit
    above_reference,    // ours less what the same round gave without the thing, in that unit
};

struct Bar {
    BarKind kind = BarKind::none;
    double limit = 0;
    // Is what ours is compared with of the same side?
    bool is_to_itself() const
    {
        return kind == BarKind::ratio_to_reference || kind == BarKind::above_reference;
    }
    // An infinite limit says what the ratio is to, and judges nothing.
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
    std::vector<Side> sides; // ours first, then the one that the bar means, then others for comparison
    bool counts = false;     // a count, not a time: judged in quick runs too
    bool fresh = false;      // a process of its own for every round
    std::size_t threads = 0; // of a crowd
    unsigned every = 1;      // takes part in one round out of so many
};

const std::vector<Figure> &all_figures();

} // namespace bench

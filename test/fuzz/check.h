// SPDX-License-Identifier: MIT OR Apache-2.0
// What a fuzz target claims about its input: where it does not hold, the target stops.
#pragma once

#include <cstdio>
#include <cstdlib>

inline void check(bool holds, const char *claim)
{
    if (holds)
        return;
    std::fprintf(stderr, "does not hold: %s\n", claim);
    std::abort();
}

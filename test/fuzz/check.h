// SPDX-License-Identifier: MIT OR Apache-2.0
// Claims of a fuzz target about its input: the target aborts if one does not hold.
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

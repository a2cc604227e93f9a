// SPDX-License-Identifier: MIT OR Apache-2.0
// Programs for the explorer's race check: each is free of races, and has one in its broken version.
#pragma once

namespace race
{

struct Program {
    const char *what;
    bool *broken;
    void (*threads[2])();
    void (*prepare)(); // null if the program needs no preparation
};

extern const Program kUpdate, kFence, kBehind, kSetup;

} // namespace race

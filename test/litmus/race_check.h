// SPDX-License-Identifier: MIT OR Apache-2.0
// Programs for the explorer's race check: each is free of races, and has one in its broken version.
#pragma once

namespace race
{

struct Program {
    const char *what;
    bool *broken;
    void (*threads[2])();
    void (*prepare)(); // null: nothing to prepare
};

extern const Program kUpdate, kFence, kBehind, kSetup;

} // namespace race

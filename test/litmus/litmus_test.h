// SPDX-License-Identifier: MIT OR Apache-2.0
// A litmus test as the table holds it: a few threads, the outcome that an ordering forbids, a mutant.
#pragma once

namespace litmus
{

struct Test {
    const char *name;
    const char *what;
    const char *shows; // the first of sc, tso, pso that sees the mutant fail, and so do the next; "tso alone": not pso,
                       // where an acquire waits for the releases before it
    bool *broken;
    bool (*forbidden)();
    void (*threads[3])(); // the last may be null
    bool races = false;   // plain accesses are checked for data races
    void (*prepare)() = nullptr;
};

} // namespace litmus

// SPDX-License-Identifier: MIT OR Apache-2.0
// [O17] Passing by what was seen: urcu_passed() and urcu_step().  One bit of generation, so that it comes round.
#include "litmus.h"

namespace litmus::O17
{

bool broken;
uint32_t word, generation, pointer = 1;
uint32_t passed, loaded = 2, first, second;

// Inside while the upper bit is set; the lower one is the generation, loaded long before.
void reader()
{
    uint32_t stale = 0;
    rtrcu_store_relaxed(&word, 2 | stale);
    rtrcu_fence_light();
    loaded = rtrcu_load_consume(&pointer);
    rtrcu_fence_light();
}

// Two grace periods; the second one has unlinked.  The mutant flips first, and lets pass who has the bit in force.
void updater()
{
    rtrcu_store_release(&generation, 1);
    plat_fence_heavy();
    rtrcu_store_release(&pointer, 2);
    if (broken)
        rtrcu_store_release(&generation, 0);
    plat_fence_heavy();
    first = rtrcu_load_acquire(&word);
    if (!broken)
        rtrcu_store_release(&generation, 0);
    second = rtrcu_load_acquire(&word);
    if (broken)
        passed = !(second & 2) || (second & 1) == rtrcu_load_relaxed(&generation);
    else
        passed = !(first & 2) || second != first;
}

bool forbidden()
{
    return passed && loaded == 1;
}

extern const Test kTest;
const Test kTest = {"O17",     "an old generation stored late; broken: compared with the one in force",
                    "sc",      &broken,
                    forbidden, {reader, updater, nullptr}};

} // namespace litmus::O17

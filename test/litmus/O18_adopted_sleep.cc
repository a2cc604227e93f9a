// SPDX-License-Identifier: MIT OR Apache-2.0
// [O18] Who sleeps until readers leave, urcu_sleep(), against a reader that leaves and looks at the futex.
#include "litmus.h"

namespace litmus::O18
{

bool broken;
uint32_t word = 1, sleeper;
uint32_t seen, woken;

void reader()
{
    rtrcu_store_release(&word, 0);
    rtrcu_fence_light();
    woken = rtrcu_load_relaxed(&sleeper);
}

void crank()
{
    rtrcu_store_relaxed(&sleeper, 1);
    if (broken)
        rtrcu_fence_full();
    else
        plat_fence_heavy();
    seen = rtrcu_load_acquire(&word);
}

bool forbidden()
{
    return seen == 1 && woken == 0;
}

extern const Test kTest;
const Test kTest = {"O18",     "the sleep until adopted readers leave; broken: the sleeper alone fences",
                    "tso",     &broken,
                    forbidden, {reader, crank, nullptr}};

} // namespace litmus::O18

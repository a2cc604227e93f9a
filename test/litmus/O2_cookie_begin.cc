// SPDX-License-Identifier: MIT OR Apache-2.0
// [O2] An updater's cookie against the begin of a grace period: gp_snap() and gp_begin().
#include "litmus.h"

namespace litmus::O2
{

bool broken;
uint32_t sequence; // 0 idle, 1 running
uint32_t pointer = 1;
uint32_t seen_sequence, seen_pointer;

void updater()
{
    rtrcu_store_release(&pointer, 2);
    if (!broken)
        rtrcu_fence_full();
    seen_sequence = rtrcu_load_acquire(&sequence); // 0: the cookie is the end of the next grace period
}

// What a reader finds that begins behind the grace period's heavy fence.
void crank()
{
    rtrcu_store_relaxed(&sequence, 1);
    rtrcu_fence_full();
    seen_pointer = rtrcu_load_consume(&pointer);
}

bool forbidden()
{
    return seen_sequence == 0 && seen_pointer == 1;
}

extern const Test kTest;
const Test kTest = {"O2",        "cookie against begin; broken: no fence between unlinking and cookie",
                    "tso alone", &broken,
                    forbidden,   {updater, crank, nullptr}};

} // namespace litmus::O2

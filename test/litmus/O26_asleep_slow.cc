// SPDX-License-Identifier: MIT OR Apache-2.0
// [O26] Falling asleep against a slow path that takes its thread for awake: reader_doze(), reader_kept_still() and
// reader_wake().
#include "litmus.h"

namespace litmus::O26
{

bool broken;
uint32_t awake = 1, slow;
uint32_t flag = 1; // 1 special, 0 fast: the owner's slow path is about to take it back
uint32_t believed, concluded;

void owner()
{
    rtrcu_store_relaxed(&slow, 1);
    rtrcu_fence_light();
    believed = rtrcu_load_relaxed(&awake);
    if (believed)
        rtrcu_exchange(&flag, 0);
    rtrcu_store_release(&slow, 0);
}

void crank()
{
    rtrcu_exchange(&awake, 0);
    if (broken)
        rtrcu_fence_full();
    else
        (void)plat_fence_heavy();
    bool quiet = rtrcu_load_acquire(&slow) == 0;
    concluded = quiet && rtrcu_load_acquire(&flag) == 1;
}

bool forbidden()
{
    return believed && concluded;
}

extern const Test kTest;
const Test kTest = {"O26",     "falling asleep against a slow path; broken: the fence does not reach the owner",
                    "tso",     &broken,
                    forbidden, {owner, crank, nullptr}};

} // namespace litmus::O26

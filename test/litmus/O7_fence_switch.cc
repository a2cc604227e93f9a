// SPDX-License-Identifier: MIT OR Apache-2.0
// [O7] The switch to full fences against a slow path that has read the old mode: reader_fences_switch() and
// reader_disarm().
#include "litmus.h"

namespace litmus::O7
{

bool broken;
uint32_t full_fences, slow;
uint32_t flag = 1; // 1 special, 0 fast: the reader's slow path is about to take it back
uint32_t confirmed;

void owner()
{
    rtrcu_store_relaxed(&slow, 1);
    if (!rtrcu_load_relaxed(&full_fences))
        rtrcu_exchange(&flag, 0);
    else
        rtrcu_fence_full();
    rtrcu_store_release(&slow, 0);
}

void switcher()
{
    rtrcu_exchange(&full_fences, 1);
    if (broken)
        rtrcu_fence_full();
    else
        plat_fence_by_visit(nullptr);
    bool quiet = rtrcu_load_acquire(&slow) == 0;
    confirmed = quiet && rtrcu_load_acquire(&flag) == 1;
}

bool forbidden()
{
    return confirmed && flag == 0;
}

extern const Test kTest;
const Test kTest = {"O7",      "switch of fences against a slow path; broken: no visit to the reader's CPU",
                    "tso",     &broken,
                    forbidden, {owner, switcher, nullptr}};

} // namespace litmus::O7

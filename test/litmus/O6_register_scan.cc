// SPDX-License-Identifier: MIT OR Apache-2.0
// [O6] Registration against the scan, where readers fence for themselves: reader_publish() and gp_scan().
#include "litmus.h"

namespace litmus::O6
{

bool broken;
uint32_t registered, dead, pointer = 1;
uint32_t loaded, used_dead;

void newcomer()
{
    if (broken) {
        rtrcu_store_relaxed(&registered, 1);
    } else {
        rtrcu_fetch_or(&registered, 1);
        rtrcu_fence_full();
    }
    loaded = rtrcu_load_consume(&pointer);
    used_dead = rtrcu_load_relaxed(&dead);
}

// The newcomer's word says "inside" from before it is registered, so whoever sees the bit waits.
void scan()
{
    rtrcu_store_release(&pointer, 2);
    rtrcu_fence_full();
    if (rtrcu_load_acquire(&registered) == 0)
        rtrcu_store_relaxed(&dead, 1);
}

bool forbidden()
{
    return loaded == 1 && used_dead;
}

extern const Test kTest;
const Test kTest = {"O6",      "registration against scan; broken: a relaxed store and no fence",
                    "tso",     &broken,
                    forbidden, {newcomer, scan, nullptr}};

} // namespace litmus::O6

// SPDX-License-Identifier: MIT OR Apache-2.0
// [O1] A reader's word against the scan of a grace period: rcu_read_lock() and reader_inside().
#include "litmus.h"

namespace litmus::O1
{

bool broken;
uint32_t word, dead;  // the reader's nesting; the old object has been freed
uint32_t pointer = 1; // 1: the old object, 2: the new one
uint32_t loaded, used_dead;

void reader()
{
    rtrcu_store_relaxed(&word, 1);
    rtrcu_fence_light();
    loaded = rtrcu_load_consume(&pointer);
    used_dead = rtrcu_load_relaxed(&dead);
    rtrcu_store_release(&word, 0);
}

void updater()
{
    rtrcu_store_release(&pointer, 2);
    if (broken)
        rtrcu_fence_full();
    else
        plat_fence_heavy();
    if (rtrcu_load_acquire(&word) == 0)
        rtrcu_store_relaxed(&dead, 1);
}

bool forbidden()
{
    return loaded == 1 && used_dead;
}

extern const Test kTest;
const Test kTest = {"O1",      "reader word against scan; broken: a full fence where the heavy one stands",
                    "tso",     &broken,
                    forbidden, {reader, updater, nullptr}};

} // namespace litmus::O1

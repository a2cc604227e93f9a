// SPDX-License-Identifier: MIT OR Apache-2.0
// [O4] A section's last access, its report, the end of the grace period, its waiter: gp_report(), gp_is_clear(),
// gp_end(), gp_reached().
#include "litmus.h"

namespace litmus::O4
{

bool broken;
uint32_t object; // the section stores into it
uint32_t node = 1, sequence = 1;
uint32_t waited, found;

void reader()
{
    rtrcu_store_relaxed(&object, 1);
    if (broken)
        rtrcu_store_relaxed(&node, 0);
    else
        rtrcu_fetch_and(&node, 0);
}

void crank()
{
    if (rtrcu_load_acquire(&node) == 0)
        rtrcu_store_release(&sequence, 4);
}

void waiter()
{
    waited = rtrcu_load_acquire(&sequence) == 4;
    rtrcu_fence_full();
    found = rtrcu_load_relaxed(&object);
}

bool forbidden()
{
    return waited && !found;
}

extern const Test kTest;
const Test kTest = {"O4",      "section, report, end, waiter; broken: the report is a relaxed store",
                    "pso",     &broken,
                    forbidden, {reader, crank, waiter}};

} // namespace litmus::O4

// SPDX-License-Identifier: MIT OR Apache-2.0
// [O11] An invoked batch against one who waits for it: serve_progress() and wait_once().
#include "litmus.h"

namespace litmus::O11
{

bool broken;
uint32_t invoked, waiters;
uint32_t wakes, seen;

void invoker()
{
    rtrcu_store_release(&invoked, 1);
    if (!broken)
        rtrcu_fence_full();
    wakes = rtrcu_load_relaxed(&waiters);
}

void waiter()
{
    rtrcu_fetch_add(&waiters, 1);
    seen = rtrcu_load_acquire(&invoked);
}

bool forbidden()
{
    return !wakes && !seen;
}

extern const Test kTest;
const Test kTest = {"O11",     "progress against a waiter; broken: the invoker does not fence",
                    "tso",     &broken,
                    forbidden, {invoker, waiter, nullptr}};

} // namespace litmus::O11

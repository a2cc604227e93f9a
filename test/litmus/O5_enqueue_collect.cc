// SPDX-License-Identifier: MIT OR Apache-2.0
// [O5] A callback's producer against the collector: cbqueue_push() and cbqueue_take_inbox().
#include "litmus.h"

namespace litmus::O5
{

// Heads by number: 0 none, 1 the stub, 2 the head that is pushed.
bool broken;
uint32_t tail = 1, stub_next, payload;
uint32_t taken, found;

void producer()
{
    rtrcu_store_relaxed(&payload, 1);
    if (broken) {
        (void)rtrcu_load_relaxed(&tail);
        rtrcu_store_relaxed(&tail, 2);
        rtrcu_store_relaxed(&stub_next, 2);
    } else if (rtrcu_exchange(&tail, 2) == 1) {
        rtrcu_store_release(&stub_next, 2);
    }
}

void collector()
{
    if (rtrcu_load_acquire(&stub_next) == 0)
        return;
    rtrcu_store_relaxed(&stub_next, 0);
    taken = rtrcu_exchange(&tail, 1);
    found = rtrcu_load_relaxed(&payload);
}

bool forbidden()
{
    return taken == 2 && !found;
}

extern const Test kTest;
const Test kTest = {"O5",      "enqueue against collection; broken: relaxed accesses for exchange and link",
                    "pso",     &broken,
                    forbidden, {producer, collector, nullptr}};

} // namespace litmus::O5

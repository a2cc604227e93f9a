// SPDX-License-Identifier: MIT OR Apache-2.0
// [O13] The end of an expedited grace period against its waiters: turn_expedited_done() and
// turn_synchronize_expedited().
#include "litmus.h"

namespace litmus::O13
{

bool broken;
uint32_t sequence, done, waiters;
uint32_t wakes, sleeps, slept_on;

void worker()
{
    rtrcu_store_release(&sequence, 1);
    rtrcu_fetch_add(&done, 1);
    wakes = rtrcu_load_relaxed(&waiters);
}

// The mutant reads the count behind the sequence, and may sleep on a count that changes no more.
void waiter()
{
    rtrcu_fetch_add(&waiters, 1);
    uint32_t reached = broken ? rtrcu_load_acquire(&sequence) : 0;
    slept_on = rtrcu_load_acquire(&done);
    if (!broken)
        reached = rtrcu_load_acquire(&sequence);
    sleeps = !reached && rtrcu_load_acquire(&done) == slept_on;
}

bool forbidden()
{
    return sleeps && (slept_on == 1 || !wakes);
}

extern const Test kTest;
const Test kTest = {"O13",     "expedited end against a waiter; broken: the count is read behind the sequence",
                    "sc",      &broken,
                    forbidden, {worker, waiter, nullptr}};

} // namespace litmus::O13

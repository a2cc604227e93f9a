// SPDX-License-Identifier: MIT OR Apache-2.0
// [O10] The release of the crank against one who waits for it: turn_release_crank() and turn_until().
#include "litmus.h"

namespace litmus::O10
{

bool broken;
uint32_t crank = 1, event, sleeping;
uint32_t wakes, sleeps;

void holder()
{
    rtrcu_exchange(&crank, 0);
    if (broken)
        rtrcu_store_relaxed(&event, 1);
    else
        rtrcu_fetch_add(&event, 1);
    wakes = rtrcu_load_relaxed(&sleeping);
}

void waiter()
{
    uint32_t before = rtrcu_load_acquire(&event), expected = 0;
    if (rtrcu_compare_exchange(&crank, &expected, 2))
        return;
    rtrcu_fetch_add(&sleeping, 1);
    sleeps = rtrcu_load_acquire(&event) == before; // as futex_wait() looks
}

bool forbidden()
{
    return sleeps && !wakes;
}

extern const Test kTest;
const Test kTest = {"O10",     "release of the crank against a waiter; broken: the count is a plain store",
                    "tso",     &broken,
                    forbidden, {holder, waiter, nullptr}};

} // namespace litmus::O10

// SPDX-License-Identifier: MIT OR Apache-2.0
// [O16] An expedited grace period that is asked for against the worker's sleep: tell() and drive_expedited_body().
#include "litmus.h"

namespace litmus::O16
{

bool broken;
uint32_t needed, event, sleeps, slept_on;

void asker()
{
    rtrcu_exchange(&needed, 1);
    rtrcu_fetch_add(&event, 1);
}

// The mutant reads the count behind the look, and may sleep on a count that changes no more.
void worker()
{
    slept_on = broken ? 0 : rtrcu_load_acquire(&event);
    uint32_t seen = rtrcu_load_acquire(&needed);
    if (broken)
        slept_on = rtrcu_load_acquire(&event);
    sleeps = !seen && rtrcu_load_acquire(&event) == slept_on; // as futex_wait() looks
}

// It sleeps on a count that changes no more.
bool forbidden()
{
    return sleeps && slept_on == 1;
}

extern const Test kTest;
const Test kTest = {
    "O16",     "a number asked for against the worker's sleep; broken: the count is read behind the look",
    "sc",      &broken,
    forbidden, {asker, worker, nullptr}};

} // namespace litmus::O16

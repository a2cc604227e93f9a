// SPDX-License-Identifier: MIT OR Apache-2.0
// [O27] A mark that a producer finds set against the collector that takes it: callback_mark() and callback_collect().
#include "litmus.h"

namespace litmus::O27
{

bool broken;
uint32_t dirty, mark = 1; // set for another of the leaf
uint32_t relied_on, taken;

void producer()
{
    rtrcu_fetch_or(&dirty, 1);
    relied_on = rtrcu_load_relaxed(&mark);
}

void collector()
{
    if (broken) {
        taken = rtrcu_exchange(&dirty, 0);
        rtrcu_fetch_and(&mark, 0);
    } else {
        rtrcu_fetch_and(&mark, 0);
        taken = rtrcu_exchange(&dirty, 0);
    }
}

bool forbidden()
{
    return relied_on && !taken;
}

extern const Test kTest;
const Test kTest = {"O27",     "a mark that is relied on, and taken; broken: it is taken behind the look",
                    "sc",      &broken,
                    forbidden, {producer, collector, nullptr}};

} // namespace litmus::O27

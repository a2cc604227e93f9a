// SPDX-License-Identifier: MIT OR Apache-2.0
// [O23] A daemon that finds a queue claimed against who lets the claim go: callback_want() and let_go().
#include "litmus.h"

namespace litmus::O23
{

bool broken;
uint32_t listed = 1, claim = 1;
uint32_t marked, seen_mark, seen_listed;

void daemon()
{
    rtrcu_exchange(&listed, 0);
    uint32_t owner = 1;
    marked = rtrcu_compare_exchange(&claim, &owner, 3);
}

void owner()
{
    uint32_t before;
    if (broken) {
        before = rtrcu_load_acquire(&claim);
        rtrcu_store_release(&claim, 0);
    } else {
        before = rtrcu_exchange(&claim, 0);
    }
    seen_mark = before == 3;
    seen_listed = rtrcu_load_relaxed(&listed);
}

bool forbidden()
{
    return marked && (!seen_mark || seen_listed);
}

extern const Test kTest;
const Test kTest = {"O23",     "a mark in a claim against its end; broken: who lets go looks, then stores",
                    "sc",      &broken,
                    forbidden, {daemon, owner, nullptr}};

} // namespace litmus::O23

// SPDX-License-Identifier: MIT OR Apache-2.0
// [O20] A look that finds nobody awake, against a thread that wakes: reader_awake_set() and gp_nobody_reads().
#include "litmus.h"

namespace litmus::O20
{

bool broken;
uint32_t awake, pointer = 1;
uint32_t seen, loaded;

void waker()
{
    rtrcu_fetch_or(&awake, 1);
    rtrcu_fence_full();
    loaded = rtrcu_load_consume(&pointer);
}

void look()
{
    rtrcu_store_release(&pointer, 2);
    if (!broken)
        rtrcu_fence_full();
    seen = rtrcu_load_acquire(&awake);
}

bool forbidden()
{
    return seen == 0 && loaded == 1;
}

extern const Test kTest;
const Test kTest = {"O20",       "who wakes against who looks for nobody; broken: the look does not fence",
                    "tso alone", &broken,
                    forbidden,   {waker, look, nullptr}};

} // namespace litmus::O20

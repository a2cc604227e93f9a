// SPDX-License-Identifier: MIT OR Apache-2.0
// [O21] A count above the leaves against a look that passes by: reader_awake_set() and reader_look_below().
#include "litmus.h"

namespace litmus::O21
{

bool broken;
uint32_t word, count, pointer = 1;
uint32_t before, passed_by, loaded;

void first()
{
    if (broken) {
        rtrcu_fetch_or(&word, 1);
        rtrcu_fetch_add(&count, 1);
    } else {
        rtrcu_fetch_add(&count, 1);
        rtrcu_fetch_or(&word, 1);
    }
}

// It finds the word not 0, so that another has raised the count.
void second()
{
    before = rtrcu_fetch_or(&word, 2);
    rtrcu_fence_full();
    loaded = rtrcu_load_consume(&pointer);
}

void look()
{
    rtrcu_store_release(&pointer, 2);
    rtrcu_fence_full();
    passed_by = rtrcu_load_acquire(&count) == 0;
}

bool forbidden()
{
    return before == 1 && passed_by && loaded == 1;
}

extern const Test kTest;
const Test kTest = {"O21",     "the count above two who wake; broken: it is raised behind the word",
                    "sc",      &broken,
                    forbidden, {first, second, look}};

} // namespace litmus::O21

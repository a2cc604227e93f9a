// SPDX-License-Identifier: MIT OR Apache-2.0
// [O14] A task that parks against whoever counts its thread as outside: section_task_park() and parked_promote().
#include "litmus.h"

namespace litmus::O14
{

bool broken;
uint32_t word = 1, parked;
uint32_t seen_word, seen_parked;

void parker()
{
    rtrcu_store_relaxed(&parked, 1);
    if (broken)
        rtrcu_store_relaxed(&word, 0);
    else
        rtrcu_fetch_add(&word, (uint32_t)-1);
}

void promoter()
{
    seen_word = rtrcu_load_acquire(&word);
    seen_parked = rtrcu_load_acquire(&parked);
}

bool forbidden()
{
    return seen_word == 0 && !seen_parked;
}

extern const Test kTest;
const Test kTest = {"O14",     "parking against promotion; broken: the word is stored relaxed",
                    "pso",     &broken,
                    forbidden, {parker, promoter, nullptr}};

} // namespace litmus::O14

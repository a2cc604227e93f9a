// SPDX-License-Identifier: MIT OR Apache-2.0
// [O24] An adopted flavour's word, stored by the program's own code, against the scan: urcu_scan().
#include "litmus.h"

namespace litmus::O24
{

bool broken;
uint32_t word, pointer = 1;
uint32_t seen, loaded;

void reader()
{
    rtrcu_store_relaxed(&word, 1);
    rtrcu_fence_light();
    loaded = rtrcu_load_consume(&pointer);
}

void updater()
{
    rtrcu_store_release(&pointer, 2);
    if (broken)
        rtrcu_fence_full();
    else
        plat_fence_heavy();
    seen = rtrcu_load_acquire(&word);
}

bool forbidden()
{
    return seen == 0 && loaded == 1;
}

extern const Test kTest;
const Test kTest = {"O24",     "an adopted word against the scan; broken: the updater alone fences",
                    "tso",     &broken,
                    forbidden, {reader, updater, nullptr}};

} // namespace litmus::O24

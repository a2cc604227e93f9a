// SPDX-License-Identifier: MIT OR Apache-2.0
// [O12] A callback that runs at once since nobody else reads, against a thread that registers: callback_direct() and
// reader_publish().
#include "litmus.h"

namespace litmus::O12
{

bool broken;
uint32_t registered, pointer = 1;
uint32_t others, loaded;

void updater()
{
    rtrcu_store_release(&pointer, 2);
    if (!broken)
        rtrcu_fence_full();
    others = rtrcu_load_acquire(&registered);
}

void newcomer()
{
    rtrcu_fetch_add(&registered, 1);
    rtrcu_fence_full();
    loaded = rtrcu_load_consume(&pointer);
}

bool forbidden()
{
    return others == 0 && loaded == 1;
}

extern const Test kTest;
const Test kTest = {"O12",       "direct invocation against registration; broken: the updater does not fence",
                    "tso alone", &broken,
                    forbidden,   {updater, newcomer, nullptr}};

} // namespace litmus::O12

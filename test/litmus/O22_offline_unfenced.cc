// SPDX-License-Identifier: MIT OR Apache-2.0
// [O22] A grace period without a heavy fence against a quiescent-state thread that goes offline: gp_needs_fence() and
// section_offline().
#include "litmus.h"

namespace litmus::O22
{

bool broken;
uint32_t online = 1, pointer = 1;
uint32_t seen, loaded;

void owner()
{
    if (broken)
        rtrcu_store_release(&online, 0);
    else
        rtrcu_fetch_add(&online, (uint32_t)-1);
    loaded = rtrcu_load_consume(&pointer); // in a section that begins without a fence
}

void asker()
{
    rtrcu_store_release(&pointer, 2);
    rtrcu_fence_full();
    seen = rtrcu_load_acquire(&online);
}

bool forbidden()
{
    return seen == 1 && loaded == 1;
}

extern const Test kTest;
const Test kTest = {"O22",       "going offline against no fence; broken: the word changes by a store",
                    "tso alone", &broken,
                    forbidden,   {owner, asker, nullptr}};

} // namespace litmus::O22

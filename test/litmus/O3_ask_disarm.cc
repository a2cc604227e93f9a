// SPDX-License-Identifier: MIT OR Apache-2.0
// [O3] What is asked of a reader against its taking the flag back: reader_arm() and reader_disarm().
#include "litmus.h"

namespace litmus::O3
{

bool broken;
uint32_t asked, flag = 1; // flag: 1 special, since an earlier asker; 0 fast
uint32_t seen;

void asker()
{
    rtrcu_store_relaxed(&asked, 1);
    rtrcu_store_release(&flag, 1);
}

void owner()
{
    if (broken)
        seen = rtrcu_load_acquire(&asked);
    rtrcu_exchange(&flag, 0);
    if (!broken)
        seen = rtrcu_load_acquire(&asked);
}

bool forbidden()
{
    return flag == 0 && !seen;
}

extern const Test kTest;
const Test kTest = {"O3",      "asking against disarming; broken: the owner reads what is asked, then disarms",
                    "sc",      &broken,
                    forbidden, {asker, owner, nullptr}};

} // namespace litmus::O3

// SPDX-License-Identifier: MIT OR Apache-2.0
// [O19] A handler's section of a thread that is away against the confirmation of full fences: reader_away_interrupted()
// and confirm_record().
#include "litmus.h"

namespace litmus::O19
{

bool broken;
uint32_t full_fences;
uint32_t away = 1;
uint32_t confirmed, unfenced;

void owner()
{
    rtrcu_store_relaxed(&away, 0);
    if (!broken)
        rtrcu_fence_full();
    unfenced = !rtrcu_load_relaxed(&full_fences);
}

void confirmer()
{
    rtrcu_exchange(&full_fences, 1);
    confirmed = rtrcu_load_acquire(&away) == 1;
}

bool forbidden()
{
    return confirmed && unfenced;
}

extern const Test kTest;
const Test kTest = {"O19",     "back from being away against a confirmation; broken: no fence before the mode is read",
                    "tso",     &broken,
                    forbidden, {owner, confirmer, nullptr}};

} // namespace litmus::O19

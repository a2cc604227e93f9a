// SPDX-License-Identifier: MIT OR Apache-2.0
// [O9] The last report against the crank that goes to sleep: turn_perform() and look_before_sleep().
#include "litmus.h"

namespace litmus::O9
{

bool broken;
uint32_t node = 1, sleeping;
uint32_t seen_sleeping, seen_node;

// The mutant has an exclusive pair without the fence behind it.
void reporter()
{
    uint32_t expected = 1;
    if (broken)
        (void)sim_compare_exchange(&node, &expected, 0, sizeof(node), SIM_SEQ_CST, "compare-exchange", "reporter");
    else
        (void)rtrcu_compare_exchange(&node, &expected, 0);
    seen_sleeping = rtrcu_load_relaxed(&sleeping);
}

void crank()
{
    rtrcu_fetch_add(&sleeping, 1);
    seen_node = rtrcu_load_acquire(&node);
}

bool forbidden()
{
    return !seen_sleeping && seen_node == 1;
}

extern const Test kTest;
const Test kTest = {"O9",      "report against the crank's sleep; broken: an update that is no full fence",
                    "pso",     &broken,
                    forbidden, {reporter, crank, nullptr}};

} // namespace litmus::O9

// SPDX-License-Identifier: MIT OR Apache-2.0
// [O15] A promotion against the report of the thread whose tasks it moves: parked_promoted(), tasks_permit_report().
#include "litmus.h"

namespace litmus::O15
{

constexpr uint64_t thread_bit = 1, blocked_flag = 2;

bool broken;
uint64_t word = thread_bit;
uint32_t parked = 1;
uint64_t left = thread_bit;

void lower_the_count()
{
    rtrcu_store_release(&parked, 0u);
}

void promoter()
{
    if (broken)
        lower_the_count();
    rtrcu_fetch_or(&word, blocked_flag);
    if (!broken)
        lower_the_count();
}

void owner()
{
    if (rtrcu_load_acquire(&parked) == 0)
        left = rtrcu_fetch_and(&word, ~thread_bit) & ~thread_bit;
}

bool forbidden()
{
    return left == 0;
}

extern const Test kTest;
const Test kTest = {"O15",     "promotion against a report; broken: the count falls before the flag is set",
                    "sc",      &broken,
                    forbidden, {promoter, owner, nullptr}};

} // namespace litmus::O15

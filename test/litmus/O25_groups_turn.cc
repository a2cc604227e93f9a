// SPDX-License-Identifier: MIT OR Apache-2.0
// [O25] Readers without a record in groups: reader_anonymous_enter(), poll_anonymous() and reader_anonymous_next().
#include "litmus.h"

namespace litmus::O25
{

bool broken;
uint32_t pointer = 1, group, turn;
uint32_t loaded, began, seen_turn, seen_group;

void reader()
{
    rtrcu_fetch_add(&group, 1);
    loaded = rtrcu_load_consume(&pointer);
}

// The first look of a grace period.
void first_look()
{
    if (broken)
        began = rtrcu_load_acquire(&turn);
    rtrcu_store_release(&pointer, 2);
    rtrcu_fence_full();
    if (!broken)
        began = rtrcu_load_acquire(&turn);
}

// The crank of the other kind, which begins the turn of the look, and sees the group empty in it.
void other()
{
    rtrcu_fetch_add(&turn, 1);
    seen_turn = rtrcu_load_acquire(&turn);
    seen_group = rtrcu_load_acquire(&group);
}

bool forbidden()
{
    return loaded == 1 && began == 0 && seen_turn == 1 && seen_group == 0;
}

extern const Test kTest;
const Test kTest = {"O25",     "a group seen empty behind a look; broken: the turn is read before the fence",
                    "sc",      &broken,
                    forbidden, {reader, first_look, other}};

} // namespace litmus::O25

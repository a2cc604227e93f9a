// SPDX-License-Identifier: MIT OR Apache-2.0
// The race check itself: an update and a fence publish what stands before them, and a relaxed store behind it nothing
// more; a release publishes nothing of what stands behind it; and who sets up is no thread, so that what is read of it
// publishes nothing of the first one.
#include "litmus.h"

namespace litmus
{

namespace
{

bool broken;
uint64_t count;
uint32_t flag;
uint32_t plain;

void write_and_publish()
{
    plain = 1;
    if (broken)
        rtrcu_store_relaxed(&flag, 1);
    else
        rtrcu_store_release(&flag, 1);
}

void writer()
{
    rtrcu_count_owner(&count);
    write_and_publish();
}

void reader()
{
    if (rtrcu_load_acquire(&flag))
        plain++;
}

void fence_and_publish()
{
    if (!broken)
        plain = 1;
    rtrcu_fence_full();
    if (broken)
        plain = 1;
    rtrcu_store_relaxed(&flag, 1);
}

void read_and_fence()
{
    if (rtrcu_load_relaxed(&flag)) {
        rtrcu_fence_full();
        plain++;
    }
}

void publish_and_write()
{
    if (!broken)
        plain = 1;
    rtrcu_store_release(&flag, 1);
    if (broken)
        plain = 1;
}

uint32_t prepared;

void prepare()
{
    for (uint32_t i = 0; i < 20; i++)
        rtrcu_store_release(&prepared, i);
}

void second()
{
    if (rtrcu_load_acquire(&flag) && rtrcu_load_acquire(&prepared))
        plain++;
}

bool forbidden()
{
    return false; // the access is
}

} // namespace

extern const Test kRaceCheck;
const Test kRaceCheck = {"race",    "a plain access behind an update; broken: a relaxed store publishes it",
                         "sc",      &broken,
                         forbidden, {writer, reader},
                         true};

extern const Test kRaceFence;
const Test kRaceFence = {"race",    "a plain access before a fence and a relaxed store; broken: between them",
                         "sc",      &broken,
                         forbidden, {fence_and_publish, read_and_fence},
                         true};

extern const Test kRaceBehind;
const Test kRaceBehind = {
    "race", "a plain access before a release; broken: behind it", "sc", &broken, forbidden, {publish_and_write, reader},
    true};

extern const Test kRaceSetup;
const Test kRaceSetup = {"race",    "a plain access behind another; broken: only what was set up is between them",
                         "sc",      &broken,
                         forbidden, {write_and_publish, second},
                         true,      prepare};

} // namespace litmus

// SPDX-License-Identifier: MIT OR Apache-2.0
// Programs for the race check of the explorer.  An update and a fence publish the accesses before them, and a relaxed
// store after them publishes nothing more.  A release does not publish later accesses.  The setup is no thread: reading
// a value that the setup wrote synchronizes with no access of the first thread.
#include "race_check.h"

extern "C" {
#include "plat/plat.h"
}

namespace race
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

} // namespace

const Program kUpdate = {
    "a plain access after an update; broken: a relaxed store publishes it", &broken, {writer, reader}, nullptr};
const Program kFence = {"a plain access before a fence and a relaxed store; broken: between them",
                        &broken,
                        {fence_and_publish, read_and_fence},
                        nullptr};
const Program kBehind = {
    "a plain access before a release; broken: after it", &broken, {publish_and_write, reader}, nullptr};
const Program kSetup = {"a plain access after another; broken: only the setup is between them",
                        &broken,
                        {write_and_publish, second},
                        prepare};

} // namespace race

// SPDX-License-Identifier: MIT OR Apache-2.0
// [O8] Whoever brings something new against the driver that goes to sleep: work_driver_wake() and driver_sleep_idle().
#include "litmus.h"

namespace litmus::O8
{

bool broken;
uint32_t news, sleeping;
uint32_t seen_sleeping, seen_news;

void waker()
{
    rtrcu_store_release(&news, 1);
    if (!broken)
        rtrcu_fence_full();
    seen_sleeping = rtrcu_load_relaxed(&sleeping);
}

void driver()
{
    rtrcu_exchange(&sleeping, 1);
    seen_news = rtrcu_load_acquire(&news);
}

bool forbidden()
{
    return !seen_sleeping && !seen_news;
}

extern const Test kTest;
const Test kTest = {"O8",      "news against the driver's sleep; broken: the waker does not fence",
                    "tso",     &broken,
                    forbidden, {waker, driver, nullptr}};

} // namespace litmus::O8

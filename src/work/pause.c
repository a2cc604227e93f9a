/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The pause of callback invokers during a fork.
 *
 * tested by: test/unit/serve/fork.cc, test/unit/urcu/fork.cc
 */
#include "work/work.h"

bool work_pause_allows(const struct work_pause *pause, const struct config *config, int64_t *held_off_ns, bool *anyway)
{
    *anyway = false;
    if (!tally_acquire(&pause->forking))
        return true;

    int64_t now = plat_clock_now();
    if (!*held_off_ns)
        *held_off_ns = now;
    *anyway = now - *held_off_ns > config_now(config)->fork_wait_us * 1000;
    return *anyway;
}

static void count_and_wake(struct work_pause *pause)
{
    rtrcu_fetch_add(&pause->event, 1);
    plat_futex_wake(&pause->event, INT32_MAX);
}

void work_pause_tell(struct work_pause *pause)
{
    if (tally_acquire(&pause->forking))
        count_and_wake(pause);
}

void work_pause_rest(struct work *work, struct work_pause *pause, uint32_t event, int64_t timeout_ns)
{
    work_sleep(work, &pause->event, event, timeout_ns);
}

bool work_pause_wait(struct work *work, struct work_pause *pause, int64_t until, bool (*serves)(void *who), void *who)
{
    for (int64_t now = plat_clock_now(); now < until; now = plat_clock_now()) {
        uint32_t event = work_pause_event(pause);
        if (!serves(who))
            return true;
        work_pause_rest(work, pause, event, until - now);
    }
    return false;
}

void work_pause_end(struct work_pause *pause)
{
    tally_lower_if_raised(&pause->forking);
    count_and_wake(pause);
}

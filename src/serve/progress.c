/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The wait until batches of callbacks have ended, and the wake-up of threads that wait so.
 *
 * tested by: test/api/callbacks.cc
 */
#include "serve/serve.h"

/* [O11] Invoker half; the waiter's half is serve_progress_wait().  The invoker has stored the counters of its batch,
 * then reads the count of waiters. */
void serve_progress(struct serve *serve)
{
    rtrcu_fence_full();
    if (!tally_read(&serve->progress_waiters))
        return;
    rtrcu_fetch_add(&serve->progress, 1);
    plat_futex_wake(&serve->progress, INT32_MAX);
}

/* [O11] Waiter half; the invoker's half is serve_progress().  We sleep at most a tick, since a deadline owner wakes no
 * thread.
 *  - Our count first:  the invoker sees our count and wakes us;
 *  - The invoker's counters first:  we see the goal reached and do not sleep.
 * Forbidden: we sleep AND the invoker wakes no thread. */
void serve_progress_wait(struct serve *serve, bool (*reached)(struct serve *, void *), void *argument,
                         int64_t longest_ns)
{
    int64_t tick_ns = work_tick_ns(serve->work);
    work_driver_wake_later(serve->work, true);
    work_driver_wake_always(serve->work); /* a thread that waits may make a system call, even a deadline thread */

    tally_raise(&serve->progress_waiters);
    uint32_t progress = rtrcu_load_acquire(&serve->progress);
    if (!reached(serve, argument))
        work_sleep(serve->work, &serve->progress, progress, longest_ns < tick_ns ? longest_ns : tick_ns);
    (void)tally_lower(&serve->progress_waiters);
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sleeping in the library: marked as asleep, so that a switch to full fences does not wait for the thread.
 *
 * tested by: test/api/deadline.cc
 */
#include "work/work.h"

void work_sleep(struct work *work, uint32_t *word, uint32_t expected, int64_t timeout_ns)
{
    bool went = reader_sleep_begin();
    call_check(); /* before the wait, and again after it: a handler may have run meanwhile */
    plat_futex_wait(word, expected, timeout_ns);
    call_check();
    if (went)
        reader_sleep_end(work->registry);
}

void work_take_long(struct work *work, struct lock *lock)
{
    if (lock_try(lock))
        return;

    bool went = reader_sleep_begin();
    lock_acquire_same_rank(lock);
    if (went)
        reader_sleep_end(work->registry);
}

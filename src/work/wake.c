/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Waking the driver: immediately, or for a deadline thread by leaving the work for the driver's next tick.
 *
 * tested by: test/api/deadline.cc
 */
#include "work/work.h"

static bool may_wake(void)
{
    return !reader_self_is(READER_STATE_DEADLINE);
}

void work_driver_wake_later(struct work *work, bool urgent)
{
    if (urgent && !rtrcu_load_relaxed(&work->urgent))
        rtrcu_store_release(&work->urgent, 1);
}

/* May the calling thread wake the driver?  A deadline thread may while it is offline: it has no deadline to meet. */
static bool may_wake_driver(void)
{
    bool offline = reader_self_is(READER_STATE_QSBR) && !reader_word_is_online(reader_self_word());
    return may_wake() || offline;
}

/* [O8] Waker half; the driver's half is driver_sleep_until_new().  The work is stored, then we read the driver's flag.
 *  - Our work first:  the driver stores its flag, then checks for work, finds ours and does not sleep;
 *  - The driver's flag first:  we see the flag and wake the driver.
 * Forbidden: the driver sleeps AND we wake no thread. */
void work_driver_wake(struct work *work, bool urgent)
{
    const struct work_driver *row = work_driver_row(work);

    work_driver_wake_later(work, urgent);
    if (row->notify)
        row->notify(work->driver);

    if (!may_wake_driver() || !row->body)
        return;

    rtrcu_fence_full();
    enum work_sleep sleeping = work_thread_sleeps(&work->thread);
    if (sleeping >= WORK_TICKING || (sleeping == WORK_PACING && urgent))
        work_driver_wake_always(work);
}

/* [O8] The thread's half; the driver's half is ticks_for_deadlines().  The thread's word has been changed by a
 * read-modify-write, then we read the driver's flag. */
void work_driver_online(struct work *work)
{
    const struct work_driver *row = work_driver_row(work);

    if (!may_wake() && work_thread_sleeps(&work->thread) == WORK_ASLEEP)
        work_driver_wake_always(work);

    if (row->online)
        row->online(work->driver);
}

void work_driver_wake_always(struct work *work)
{
    counter_add(&work->wakeups, 1);
    work_thread_wake(&work->thread);
}

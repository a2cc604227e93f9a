/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Waking the driver: at once, or where a deadline thread has something for it at its next tick.
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

/* A deadline thread that is offline has no deadline to keep. */
static bool may_wake_driver(void)
{
    bool offline = reader_self_is(READER_STATE_QSBR) && !reader_word_is_online(reader_self_word());
    return may_wake() || offline;
}

/* [O8] Waker half; the driver's is driver_sleep_until_new().  What is new is stored, then the flag is read.
 *  - our store first:  the driver, who stores its flag and then looks, finds it and does not sleep;
 *  - its flag first:   we see it and wake it.
 * Forbidden: it sleeps AND we wake nobody. */
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

/* [O8] The word is changed by an update, then the flag is read; ticks_for_deadlines() is the other half. */
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

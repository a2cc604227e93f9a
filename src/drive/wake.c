/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a thread does behind a report, once it holds nothing: ends its boost, wakes who waits for a grace
 * period, and the driver.  Or wakes nobody: for a deadline thread the driver looks at its next tick.
 *
 * tested by: test/api/deadline.cc
 */
#include "drive/drive.h"

static bool may_wake(void)
{
    return !reader_self_is(READER_STATE_DEADLINE);
}

/* [O9] Reporter half: the clearing of the node is a full fence, then the flag is read. */
void drive_perform(struct drive *drive, enum gp_actions actions)
{
    if (actions == GP_ACTION_NONE)
        return;

    for (enum gp_kind kind = GP_NORMAL; kind < GP_KINDS; kind++) {
        struct drive_turning *turning = &drive->turning[kind];
        if (!(actions & gp_action_wake(kind)) || !may_wake() || !tally_read(&turning->sleeping))
            continue;
        rtrcu_fetch_add(&turning->event, 1);
        plat_futex_wake(&turning->event, 1);
    }

    if (actions & GP_ACTION_UNLOCK_PI) /* a deadline thread too: it had been boosted, which ends here */
        (void)plat_futex_unlock_pi(reader_self_boost_word());
}

void drive_wake_later(struct drive *drive, bool urgent)
{
    if (urgent && !rtrcu_load_relaxed(&drive->urgent))
        rtrcu_store_release(&drive->urgent, 1);
}

/* A deadline thread that is offline has no deadline to keep. */
static bool may_wake_driver(void)
{
    bool offline = reader_self_is(READER_STATE_QSBR) && !reader_word_is_online(reader_self_word());
    return may_wake() || offline;
}

/* [O8] Waker half; the driver's is drive_sleep_idle().  What is new is stored, then the flag is read.
 *  - our store first:  the driver, who stores its flag and then looks, finds it and does not sleep;
 *  - its flag first:   we see it and wake it.
 * Forbidden: it sleeps AND we wake nobody.   litmus: O8 */
void drive_wake(struct drive *drive, bool urgent)
{
    const struct drive_driver *row = drive_row(drive);

    drive_wake_later(drive, urgent);
    if (row->notify)
        row->notify(drive);

    if (!may_wake_driver() || !row->body)
        return;

    rtrcu_fence_full();
    enum drive_sleep sleeping = drive_thread_sleeps(&drive->thread);
    if (sleeping >= DRIVE_TICKING || (sleeping == DRIVE_PACING && urgent))
        drive_wake_always(drive);
}

/* [O8] The word is changed by an update, then the flag is read; ticks_for_deadlines() is the other half. */
void drive_online(struct drive *drive)
{
    const struct drive_driver *row = drive_row(drive);

    if (!may_wake() && drive_thread_sleeps(&drive->thread) == DRIVE_IDLE)
        drive_wake_always(drive);

    if (row->online)
        row->online(drive);
}

void drive_wake_always(struct drive *drive)
{
    counter_add(&drive->wakeups, 1);
    drive_thread_wake(&drive->thread);
}

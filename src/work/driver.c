/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The driver's thread: created when needed, and held while the driver is changed.
 *
 * tested by: test/api/drivers.cc
 */
#include <pthread.h>

#include "work/work.h"

/* Create the driver's thread again after a callback has ended it; the driver runs callbacks where no daemon can be
 * created.  If the creation is refused, the next call of each owner tries again when it checks its limits, even if its
 * inbox was not empty.
 * - the owner's check first:  our store makes the owner check again;
 * - our store first:  the owner, which fences between its check and its read of the driver's state, finds that the
 *   driver has ended.
 * Forbidden: the owner has put off its next check AND finds that the driver runs. */
static void on_thread_end(void *argument)
{
    struct work *work = argument;
    work_thread_ended(work, &work->thread);
    if (work_driver_start(work) != 0)
        callback_check_again_all(work->cb);
}

static void *run(void *argument)
{
    struct work *work = argument;
    work_rt_begins(work, &work->rt_driver, &work->thread, WORK_RT_DRIVER);
    work_rt_runs(work, &work->rt_driver);
    pthread_cleanup_push(on_thread_end, work);
    work_driver_row(work)->body(work->driver);
    pthread_cleanup_pop(0);
    return NULL;
}

/* Creates the driver's thread.  The driver's row is read after the claim, which work_driver_change() needs too, so the
 * thread runs the body of the driver in force. */
int work_driver_start(struct work *work)
{
    sigset_t saved;
    int claimed = work_thread_claim(work, &work->thread, &saved);
    if (claimed <= 0)
        return claimed;

    struct work_thread_spec start = {.name = "rtrcu-gp",
                                     .body = work_driver_has_thread(work) ? run : NULL,
                                     .argument = work,
                                     .priority = work_rt_priority(work, WORK_RT_DRIVER)};
    return work_thread_make(work, &work->thread, &start, &saved);
}

/* Does nothing in a handler that interrupted the library. */
void work_driver_start_in_call(struct work *work)
{
    bool may = plat_tid_is(work->survivor, lock_thread_id()) || !reader_self_is(READER_STATE_DEADLINE);
    if (may && !work_thread_runs(&work->thread) && !call_is_nested())
        (void)work_driver_start(work);
}

bool work_driver_hold(struct work *work)
{
    return work_thread_hold(&work->thread);
}

void work_driver_change(struct work *work, const struct work_driver *driver, const struct plat_thread_attr *attr)
{
    rtrcu_store_release(&work->row, driver);
    rtrcu_store_release(&work->attr, attr);
}

void work_driver_changed(struct work *work)
{
    if (!work_thread_release(&work->thread))
        return;
    (void)work_driver_start(work);
    work_driver_leave(work); /* no other thread knows of work that a previous driver's thread has left */
}

void work_driver_leave(struct work *work)
{
    const struct work_driver *row = work_driver_row(work);
    if (row->leave)
        row->leave(work->driver);
}

int work_driver_start_surely(struct work *work)
{
    struct work_thread *thread = &work->thread;
    int error = 0;
    rtrcu_store_relaxed(&work->refused_ns, 0);

    while (!error && !work_thread_runs(thread)) { /* ends when the claiming thread has created it or was refused */
        error = work_driver_start(work);
        uint32_t state = rtrcu_load_acquire(&thread->state);
        if (!error && state != WORK_RUNNING)
            work_sleep(work, &thread->state, state, work_tick_ns(work));
    }
    return error;
}

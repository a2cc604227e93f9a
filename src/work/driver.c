/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The driver's thread: made when it is needed, and held while the driver is changed.
 *
 * tested by: test/api/drivers.cc
 */
#include <pthread.h>

#include "work/work.h"

/* Where no daemon can be made the driver runs callbacks, and one has ended it.  Refused: the next call of each owner
 * tries again, also where its inbox was not empty, by its look at the limits.
 *  - an owner's look comes first, then our store has it look again;
 *  - our store comes first, then the owner, who fences between its look and this, finds that the driver is gone.
 * Forbidden: the owner has put its next look off AND believes that the driver runs. */
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
    pthread_cleanup_push(on_thread_end, work);
    work_driver_row(work)->body(work->driver);
    pthread_cleanup_pop(0);
    return NULL;
}

/* The row is read behind the claim, which work_driver_change() needs too: so the body is that of the driver in
 * force. */
int work_driver_start(struct work *work)
{
    sigset_t saved;
    int claimed = work_thread_claim(work, &work->thread, &saved);
    if (claimed <= 0)
        return claimed;

    struct work_thread_spec start = {
        .name = "rtrcu-gp", .body = work_driver_has_thread(work) ? run : NULL, .argument = work};
    return work_thread_make(work, &work->thread, &start, &saved);
}

/* Not in a handler that interrupted the library, which would make it. */
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
    work_driver_leave(work); /* where the driver before had a thread, nobody was asked to do what is left */
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

    while (!error && !work_thread_runs(thread)) { /* ends when its maker has made it or was refused */
        error = work_driver_start(work);
        uint32_t state = rtrcu_load_acquire(&thread->state);
        if (!error && state != WORK_RUNNING)
            work_sleep(work, &thread->state, state, work_tick_ns(work));
    }
    return error;
}

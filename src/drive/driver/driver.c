/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The driver's thread: made when it is needed, and held while the driver is changed.
 *
 * tested by: test/api/drivers.cc
 */
#include <pthread.h>

#include "drive/work/work.h"

/* Where no daemon can be made the driver runs callbacks, and one has ended it.  Refused: the next call of each owner
 * tries again, also where its inbox was not empty, by its look at the limits.
 *  - an owner's look comes first, then our store has it look again;
 *  - our store comes first, then the owner, who fences between its look and this, finds that the driver is gone.
 * Forbidden: the owner has put its next look off AND believes that the driver runs. */
static void gone(void *argument)
{
    struct work *work = argument;
    drive_thread_ended(work, &work->thread);
    if (drive_start(work) != 0)
        callback_look_again_all(work->cb);
}

static void *run(void *argument)
{
    struct work *work = argument;
    pthread_cleanup_push(gone, work);
    drive_row(work)->body(work->driver);
    pthread_cleanup_pop(0);
    return NULL;
}

/* The row is read behind the claim, which drive_change() needs too: so the body is that of the driver in force. */
int drive_start(struct work *work)
{
    sigset_t saved;
    int claimed = drive_thread_claim(work, &work->thread, &saved);
    if (claimed <= 0)
        return claimed;

    struct drive_thread_spec start = {
        .name = "rtrcu-gp", .body = drive_has_thread(work) ? run : NULL, .argument = work};
    return drive_thread_make(work, &work->thread, &start, &saved);
}

/* Not in a handler that interrupted the library, which would make it. */
void drive_start_in_call(struct work *work)
{
    bool may = plat_tid_is(work->survivor, lock_thread_id()) || !reader_self_is(READER_STATE_DEADLINE);
    if (may && !drive_thread_runs(&work->thread) && !call_is_nested())
        (void)drive_start(work);
}

bool drive_hold(struct work *work)
{
    return drive_thread_hold(&work->thread);
}

void drive_change(struct work *work, const struct drive_driver *driver, const struct plat_home *home)
{
    rtrcu_store_release(&work->row, driver);
    rtrcu_store_release(&work->home, home);
}

void drive_changed(struct work *work)
{
    if (!drive_thread_let(&work->thread))
        return;
    (void)drive_start(work);
    drive_leave(work); /* where the driver before had a thread, nobody was asked to do what is left */
}

void drive_leave(struct work *work)
{
    const struct drive_driver *row = drive_row(work);
    if (row->leave)
        row->leave(work->driver);
}

int drive_start_surely(struct work *work)
{
    struct drive_thread *thread = &work->thread;
    int error = 0;
    rtrcu_store_relaxed(&work->refused_ns, 0);

    while (!error && !drive_thread_runs(thread)) { /* ends when its maker has made it or was refused */
        error = drive_start(work);
        uint32_t state = rtrcu_load_acquire(&thread->state);
        if (!error && state != DRIVE_RUNNING)
            drive_sleep(work, &thread->state, state, drive_tick_ns(work));
    }
    return error;
}

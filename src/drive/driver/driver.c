/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The driver's thread: made when it is needed, and held while the driver is changed.
 *
 * tested by: test/api/drivers.cc
 */
#include <pthread.h>

#include "drive/drive.h"

/* Where no daemon can be made the driver runs callbacks, and one has ended it.  Refused: the next call of each owner
 * tries again, also where its inbox was not empty, by its look at the limits.
 *  - an owner's look comes first, then our store has it look again;
 *  - our store comes first, then the owner, who fences between its look and this, finds that the driver is gone.
 * Forbidden: the owner has put its next look off AND believes that the driver runs. */
static void gone(void *argument)
{
    struct drive *drive = argument;
    drive_thread_ended(drive, &drive->thread);
    if (drive_start(drive) != 0)
        callback_look_again_all(drive->cb);
}

static void *run(void *drive)
{
    pthread_cleanup_push(gone, drive);
    drive_row(drive)->body(drive);
    pthread_cleanup_pop(0);
    return NULL;
}

/* The row is read behind the claim, which drive_change() needs too: so the body is that of the driver in force. */
static int claim_and_make(struct drive *drive)
{
    int claimed = drive_thread_claim(drive, &drive->thread);
    if (claimed <= 0)
        return claimed;

    struct drive_thread_spec start = {
        .name = "rtrcu-gp", .body = drive_row(drive)->body ? run : NULL, .argument = drive};
    return drive_thread_make(drive, &drive->thread, &start);
}

int drive_start(struct drive *drive)
{
    sigset_t saved;
    if (drive_thread_runs(&drive->thread))
        return 0;

    plat_signals_block(&saved);
    int error = claim_and_make(drive);
    plat_signals_restore(&saved);
    return error;
}

/* Not in a handler that interrupted the library, which would make it. */
void drive_start_in_call(struct drive *drive)
{
    bool may = plat_tid_is(drive->survivor, lock_thread_id()) || !reader_self_is(READER_STATE_DEADLINE);
    if (may && !drive_thread_runs(&drive->thread) && !call_is_nested())
        (void)drive_start(drive);
}

void drive_mark_flooded(struct drive *drive)
{
    rtrcu_store_relaxed(&drive->flooded_ns, plat_clock_now());
}

bool drive_hold(struct drive *drive)
{
    return drive_thread_hold(&drive->thread);
}

void drive_change(struct drive *drive, const struct drive_driver *driver, const struct plat_home *home)
{
    rtrcu_store_release(&drive->driver, driver);
    rtrcu_store_release(&drive->home, home);
}

void drive_changed(struct drive *drive)
{
    if (!drive_thread_let(&drive->thread))
        return;
    (void)drive_start(drive);
    drive_leave(drive); /* where the driver before had a thread, nobody was asked to do what is left */
}

void drive_leave(struct drive *drive)
{
    const struct drive_driver *row = drive_row(drive);
    if (row->leave)
        row->leave(drive);
}

int drive_start_surely(struct drive *drive)
{
    struct drive_thread *thread = &drive->thread;
    int error = 0;
    rtrcu_store_relaxed(&drive->refused_ns, 0);

    while (!error && !drive_thread_runs(thread)) { /* ends when its maker has made it or was refused */
        error = drive_start(drive);
        uint32_t state = rtrcu_load_acquire(&thread->state);
        if (!error && state != DRIVE_RUNNING)
            drive_sleep(drive, &thread->state, state, drive_tick_ns(drive));
    }
    return error;
}

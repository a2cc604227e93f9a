/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One driver step in a call of the program, for a driver that has no thread or cannot get one now.
 *
 * tested by: test/api/drivers.cc
 */
#include "driver/driver.h"

/* Do callbacks wait for a quiescent state of another thread?  Callbacks of exited threads do, because these threads
 * pass no more quiescent states; so do ready callbacks of quiescent-state threads whose flag a section may have
 * cleared: the next step sets it again. */
static bool has_waiting(struct driver *driver)
{
    for (struct reader_leaf *leaf = NULL; (leaf = callback_next_busy(driver->cb, leaf));) {
        uint32_t gone = callback_busy_slots(leaf) & ~reader_registered(leaf);
        uint32_t ready = callback_ready(leaf) & reader_quiescent(leaf);
        if (gone | ready)
            return true;
    }
    return false;
}

bool driver_work_is_left(struct driver *driver)
{
    return turn_is_needed(driver_normal(driver)) || driver_anything_new(driver) || has_waiting(driver);
}

void driver_step_here(struct driver *driver, struct serve_call_budget *call_budget, bool asked)
{
    const struct work_driver *row = work_driver_row(driver->work);

    if (reader_self_is(READER_STATE_CALLBACK))
        return; /* the call comes from a callback, and the step that runs the callback will continue */
    if (row->body && (!asked || work_driver_runs(driver->work)))
        return;

    counter_add(&driver->passes, 1);
    if (work_may_be_urgent(driver->work))
        (void)work_take_urgent(driver->work);

    callback_collect(driver->cb);
    turn_step(driver_normal(driver));
    turn_expedited_serve(driver->turn, driver_serve_meanwhile);
    serve_dispatch_within(driver->serve, call_budget);

    if (row->notify && (call_budget->left || driver_work_is_left(driver)))
        row->notify(driver);
}

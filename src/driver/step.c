/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One step of a driver in a call of the program's, where the library has no thread to do it: a driver without a
 * thread, or one whose thread is not to be had now.
 *
 * tested by: test/api/drivers.cc
 */
#include "driver/driver.h"

/* Callbacks that wait for somebody's quiescent state: those of threads that have gone, of whom none will come; and
 * ready ones of owners in that discipline, where a section may have swallowed the flag that tells its thread: the next
 * step sets it again. */
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
        return; /* a callback passed a quiescent state of its own: the outer one goes on */
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

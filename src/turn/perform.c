/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Actions after a report, with no lock held: ending the boost, and waking threads that wait for a grace period.  A
 * deadline thread wakes no thread: a waiter polls at its next tick.
 *
 * tested by: test/api/deadline.cc
 */
#include "turn/turn.h"

/* [O9] Reporter half; the sleeper's half is poll_before_sleep().  The reporter has cleared its bit in the node, by a
 * full fence, then reads the count of sleepers. */
void turn_perform(struct turn *turn, enum gp_actions actions)
{
    if (actions == GP_ACTION_NONE)
        return;

    bool may_wake = !reader_self_is(READER_STATE_DEADLINE);

    for (enum gp_kind kind = GP_NORMAL; kind < GP_KINDS && may_wake; kind++) {
        struct gp_state *gp_state = &turn->gp_state[kind];
        if (!(actions & gp_action_wake(kind)) || !tally_read(&gp_state->sleeping))
            continue;
        rtrcu_fetch_add(&gp_state->event, 1);
        plat_futex_wake(&gp_state->event, 1);
    }

    if (actions & GP_ACTION_UNLOCK_PI) /* even in a deadline thread: its own boost ends here */
        (void)plat_futex_unlock_pi(reader_self_boost_word());
}

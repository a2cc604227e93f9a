/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that wait for an expedited grace period: how they sleep, and the highest priority among them.
 *
 * Each grace-period number has the highest priority of its waiters until it is reached.  Threads that advance that
 * grace period do not run below this priority, and do not keep it after the waiters have left.
 * tested by: test/api/expedited.cc
 */
#include "turn/turn.h"

static uint32_t word_of(uint64_t seq)
{
    return (uint32_t)(seq / SEQ_STEP % 4);
}

/* [O13] Advancer half; the waiter's is turn_expedited_wait().
 *  - The advancer's sequence first:  the waiter sees the new sequence and does not sleep;
 *  - The waiter's read of the count first:  the count has changed when the waiter tries to sleep, so the waiter stays
 *    awake.
 * Forbidden: the waiter sleeps AND the count does not change any more. */
void turn_expedited_done(struct turn *turn)
{
    struct turn_exp_waiters *exp_waiters = &turn->exp_waiters;
    uint32_t index = word_of(gp_seq(turn->gp, GP_EXPEDITED));

    rtrcu_store_relaxed(&exp_waiters->priority[index], 0);
    rtrcu_fetch_add(&exp_waiters->ended[index], 1);
    if (tally_read(&exp_waiters->waiters[index]))
        plat_futex_wake(&exp_waiters->ended[index], INT32_MAX);
}

/* [O13] Waiter half; the advancer's half is turn_expedited_done(). */
void turn_expedited_wait(struct turn *turn, uint64_t cookie)
{
    struct turn_exp_waiters *exp_waiters = &turn->exp_waiters;
    uint32_t index = word_of(cookie);
    tally_raise(&exp_waiters->waiters[index]);

    while (!gp_reached(turn->gp, GP_EXPEDITED, cookie)) { /* ends after at most two grace periods */
        uint32_t done = rtrcu_load_acquire(&exp_waiters->ended[index]);
        if (!gp_reached(turn->gp, GP_EXPEDITED, cookie))
            work_sleep(turn->work, &exp_waiters->ended[index], done, PLAT_FOREVER);
    }

    (void)tally_lower(&exp_waiters->waiters[index]);
}

int turn_expedited_priority(struct turn *turn)
{
    const struct rtrcu_config *config = config_now(turn->config);
    int highest = config->exp_worker != RTRCU_EXP_WORKER_WORKQUEUE ? config->kthread_prio : 0;
    bool follows = highest > 0 && gp_is_needed(turn->gp, GP_EXPEDITED);

    for (int i = 0; i < 4 && follows; i++) {
        int waits = (int)rtrcu_load_acquire(&turn->exp_waiters.priority[i]);
        highest = waits > highest ? waits : highest;
    }
    return highest;
}

void turn_expedited_raise(struct turn *turn, uint64_t cookie, uint32_t priority)
{
    uint32_t *word = &turn->exp_waiters.priority[word_of(cookie)], waits = rtrcu_load_relaxed(word);
    while (waits < priority && !rtrcu_compare_exchange(word, &waits, priority))
        ; /* each failure means that another waiter has raised the priority */
}

void turn_exp_waiters_init(struct turn *turn)
{
    for (int i = 0; i < 4; i++) {
        tally_reset(&turn->exp_waiters.waiters[i]);
        rtrcu_store_relaxed(&turn->exp_waiters.priority[i], 0);
    }
    rtrcu_store_relaxed(&turn->exp_waiters.notified, gp_seq(turn->gp, GP_EXPEDITED) & ~SEQ_STATE_MASK);
}

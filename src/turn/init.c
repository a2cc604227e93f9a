/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Initialisation of the room, its repair in a fork's child, and its counters.
 *
 * tested by: test/api/expedited.cc
 */
#include "turn/turn.h"

#define BOOST_LIMIT_NS 200000000

void turn_leaf_init(struct turn_leaf *part, struct reader_leaf *leaf)
{
    reader_leaf_join(leaf, READER_TURN, part);
}

void turn_init(struct turn *turn, const struct config *config, struct gp *gp, struct watch *watch, struct work *work,
               struct serve *serve)
{
    turn->config = config;
    turn->registry = gp_registry(gp);
    turn->gp = gp;
    turn->watch = watch;
    turn->work = work;
    turn->serve = serve;
    turn->boost_limit_ns = BOOST_LIMIT_NS;

    for (enum gp_kind kind = GP_NORMAL; kind < GP_KINDS; kind++)
        turn_gp_state_init(&turn->gp_state[kind], turn, kind);
    turn_exp_waiters_init(turn);

    work_worker_init(work, WORK_WORKER_EXPEDITED, &turn_job_expedited, turn);
    work_worker_init(work, WORK_WORKER_BOOST, &turn_job_boost, turn);
    work_worker_init(work, WORK_WORKER_NUDGE, &turn_job_nudge, turn);
}

/* Changes the futex words on which program threads wait without a timeout; all other waits without a timeout are for
 * locks.  After the handler the kernel restarts such a wait, and reads the word first. */
void turn_end_waits(struct turn *turn)
{
    for (int i = 0; i < 4; i++)
        rtrcu_fetch_add(&turn->exp_waiters.ended[i], 1);
}

static void forget_leaf(struct reader_leaf *leaf)
{
    struct reader_record *record;

    reader_lock(leaf);
    for (uint32_t left = READER_ALL_SLOTS; (record = reader_next(leaf, &left));)
        *turn_slot(record) = (struct turn_slot){0};
    reader_unlock(leaf);
}

void turn_after_fork_child(struct turn *turn)
{
    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_leaf(turn->registry, leaf));)
        forget_leaf(leaf);

    for (int kind = 0; kind < GP_KINDS; kind++)
        turn_gp_state_after_fork_child(&turn->gp_state[kind]);
    turn_exp_waiters_init(turn);
    turn->boosting = (struct turn_boosting){0};
    tally_reset(&turn->driver_waiters);
}

void turn_stats(const struct turn *turn, struct rtrcu_stats *stats)
{
    stats->gp_slept = counter_read(&turn->gp_state[GP_NORMAL].slept);
    stats->gp_unfenced = counter_read(&turn->gp_state[GP_NORMAL].unfenced);
    stats->gp_by_caller = counter_read(&turn->gp_state[GP_NORMAL].by_caller);
    stats->exp_by_caller = counter_read(&turn->gp_state[GP_EXPEDITED].by_caller);
    stats->boosts = counter_read(&turn->boosts);
    stats->boost_ns = counter_read(&turn->boost_ns);
    stats->boost_ns_max = rtrcu_load_relaxed(&turn->boost_ns_max);
    stats->boost_refused = counter_read(&turn->boost_refused);
    stats->boost_given_up = counter_read(&turn->boost_given_up);
    stats->fence_refused = counter_read(&turn->fence_refused);
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Expedited grace periods: a machine of their own (2022).
 *
 * A caller turns the first step itself: begin, fence, scan, and a moment of watching; most grace periods end there.  A
 * real-time caller boosts readers that stand still, and looks again, a few times.  What is left, readers
 * inside, goes to a real-time worker.  A caller that finds the machine taken asks for its number,
 * wakes the worker, and blocks on the machine's priority-inheriting lock, which boosts whoever holds it.
 *
 *  word                  says                                           set by
 *  machine.needed        asked: somebody wants grace periods up to it   gp_request(): callers that hand over or ask
 *  numbers.told          told: the worker was woken for those up to it  wake_worker_for(), never by a caller's own turn
 *  numbers.priority[]    the highest priority that waits for a number   callers that hand over, or turn to the end
 *                                                                       without a worker; at its end 0
 *
 * The setting exp_worker decides which threads turn.  kthread: callers, and a worker at SCHED_FIFO; kthread-only: that
 * worker alone; workqueue: a worker at SCHED_OTHER alone.
 * Where there is no worker, callers turn to the end, and the driver does what was only asked for.
 * tested by: test/api/expedited.cc
 */
#include "turn/turn.h"

/* A caller boosts so many times before it hands over: readers that stood still at one look have run at the next, or
 * others were preempted. */
#define BOOSTS_OF_CALLER 4

static struct work_worker *worker_of(const struct turn *turn)
{
    return work_worker(turn->work, WORK_WORKER_EXPEDITED);
}

static struct gp_state *machine_of(struct turn *turn)
{
    return &turn->gp_state[GP_EXPEDITED];
}

/* It runs, at its own priority. */
static bool worker_is_there(struct turn *turn)
{
    return work_worker_has_appeared(worker_of(turn));
}

/* Wake the worker for @cookie, which has been asked for, unless somebody has.  Its count makes a wake-up that comes
 * before its sleep end that.  Told is raised behind the wake-up: nobody relies on one that a preempted thread still
 * owes.
 * [O16] The count of wake-ups is raised behind the number asked for; see expedited_body(). */
static void wake_worker_for(struct turn *turn, uint64_t cookie)
{
    uint64_t notified = rtrcu_load_acquire(&turn->exp_waiters.notified);
    if (!seq_before(notified, cookie))
        return;

    work_worker_wake(worker_of(turn));
    while (seq_before(notified, cookie) && !rtrcu_compare_exchange(&turn->exp_waiters.notified, &notified, cookie))
        ; /* each failure means that somebody told of another number */
}

/* The calling thread waits for @cookie: threads that work for that number take its priority. */
static void request_expedited(struct turn *turn, uint64_t cookie)
{
    gp_request(turn->gp, GP_EXPEDITED, cookie);
    turn_expedited_raise(turn, cookie, (uint32_t)plat_sched_rt_priority());
}

/* The calling thread waits for @cookie and leaves it to others: ask, lift the worker, wake it. */
static void hand_over(struct turn *turn, uint64_t cookie)
{
    request_expedited(turn, cookie);
    work_worker_lift(worker_of(turn), turn_expedited_priority(turn));
    wake_worker_for(turn, cookie);
}

/* Made beforehand, with those that it needs as soon as a reader is in the way.  If it cannot be made, what was asked
 * for is the driver's.  0 or -errno. */
static int start_worker(struct turn *turn)
{
    const struct rtrcu_config *config = config_now(turn->config);
    if (work_worker_runs(worker_of(turn)))
        return 0;

    int error = work_worker_start(worker_of(turn));
    if (error && work_driver_start(turn->work) == 0)
        work_driver_wake(turn->work, true);

    if (!error && config->boost && config->kthread_prio) {
        (void)work_worker_start(work_worker(turn->work, WORK_WORKER_BOOST));
        (void)work_worker_start(work_worker(turn->work, WORK_WORKER_NUDGE));
    }
    return error;
}

void turn_start_expedited(struct turn *turn, uint64_t cookie)
{
    gp_request(turn->gp, GP_EXPEDITED, cookie);
    if (reader_self_is(READER_STATE_DEADLINE)) {
        work_driver_start_in_call(turn->work); /* in a fork's child */
        work_driver_wake(turn->work, true);    /* the driver passes it on, at its tick while this thread is online */
    } else if (start_worker(turn) == 0) {
        wake_worker_for(turn, cookie);
    }
}

bool turn_expedited_is_left(struct turn *turn)
{
    uint64_t needed = gp_needed(turn->gp, GP_EXPEDITED);
    if (!turn_is_needed(machine_of(turn)))
        return false;

    return !work_worker_runs(worker_of(turn)) || seq_before(rtrcu_load_acquire(&turn->exp_waiters.notified), needed);
}

void turn_expedited_serve(struct turn *turn, bool (*serve)(struct serve *serve))
{
    const struct turn_options options = {.serve = serve};
    if (!turn_expedited_is_left(turn))
        return;

    if (work_driver_has_thread(turn->work) && work_worker_start(worker_of(turn)) == 0)
        wake_worker_for(turn, gp_needed(turn->gp, GP_EXPEDITED));
    else if (work_driver_is_me(turn->work))
        turn_if_needed(machine_of(turn), &options);
    else /* a call of the program's, which waits for nobody: it may be in the way itself */
        turn_step(machine_of(turn));
}

/* Behind a release: what others asked for meanwhile, who relied on whoever had the machine. */
static void serve_requested(struct turn *turn)
{
    static const struct turn_options options = {.by_caller = true};
    if (!turn_is_needed(machine_of(turn)))
        return;

    if (reader_self_is(READER_STATE_DEADLINE))
        work_driver_wake(turn->work, true);
    else if (worker_is_there(turn))
        wake_worker_for(turn, gp_needed(turn->gp, GP_EXPEDITED));
    else
        turn_if_needed(machine_of(turn), &options);
}

/* May callers turn, by the configuration?  In the variants of 2022 they always hand over, where no thread reads too. */
static bool callers_may_advance(struct turn *turn)
{
    return config_now(turn->config)->exp_worker == RTRCU_EXP_WORKER_KTHREAD;
}

/* Does the calling thread leave all of it to the worker? */
static bool leaves_it(struct turn *turn)
{
    return !callers_may_advance(turn) ||
           (work_worker_priority(worker_of(turn)) == 0 && work_caller_is_low_priority(turn->work));
}

void turn_synchronize_expedited(struct turn *turn, uint64_t cookie)
{
    struct gp_state *gp_state = machine_of(turn);
    bool deadline = reader_self_is(READER_STATE_DEADLINE); /* wakes nobody, so it turns to the end */

    if (!deadline)
        start_worker(turn);

    bool alone = deadline || !worker_is_there(turn);
    if ((alone || callers_may_advance(turn)) && turn_try_immediate(gp_state, cookie)) {
        serve_requested(turn);
        return;
    }

    if (alone) {
        request_expedited(turn, cookie); /* the booster, which may have been made just now, takes the priority */
        turn_synchronize(gp_state, cookie);
        serve_requested(turn);
        return;
    }

    bool left = leaves_it(turn);
    int boosts = 0;

    while (!left && !turn_has_reached(gp_state, cookie)) { /* the one under way and the next, and the boosts */
        if (!lock_try(turn_gp_lock_of(gp_state))) {
            hand_over(turn, cookie);
            turn_gp_lock(gp_state);
        }

        left = !turn_has_reached(gp_state, cookie) && !turn_first(gp_state);
        turn_gp_unlock(gp_state);
        serve_requested(turn);

        if (left && boosts++ < BOOSTS_OF_CALLER)
            left = !turn_boost_here(gp_state);
    }

    if (left) {
        hand_over(turn, cookie);
        turn_expedited_wait(turn, cookie);
    }
}

static int priority_now(void *owner)
{
    return turn_expedited_priority(owner);
}

/* [O16] Worker half; wake_worker_for() is the other.  The count of wake-ups is read before what is asked for.
 *  - its raising first:  the number asked for is seen, and turned;
 *  - our read first:     the count has changed when we go to sleep, so we do not.
 * Forbidden: we sleep AND a number was asked for that nobody will tell us of. */
static void *expedited_body(void *argument)
{
    static const struct turn_options options = {0};
    struct work_worker *worker = argument;
    struct gp_state *gp_state = machine_of(work_worker_owner(worker));

    for (;;) { /* for the life of the process */
        uint32_t event = work_worker_event(worker);
        work_worker_settle(worker, priority_now);
        work_worker_appears(worker);
        if (turn_is_needed(gp_state))
            turn_if_needed(gp_state, &options);
        else
            work_worker_sleep(worker, event, PLAT_FOREVER);
    }
    return NULL;
}

static int first_priority(const struct rtrcu_config *config)
{
    return config->exp_worker != RTRCU_EXP_WORKER_WORKQUEUE ? config->kthread_prio : 0;
}

const struct work_job turn_job_expedited = {"rtrcu-exp", expedited_body, first_priority, NULL};

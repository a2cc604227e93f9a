/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Expedited grace periods, which have a machine of their own (2022).
 *
 * A caller takes the first step itself: begin, fence, scan, and spin for a moment.  Most grace periods end there.  A
 * real-time caller boosts the readers that do not run, and polls again, a few times.  The remaining steps go to a
 * real-time worker.  A caller that finds the gp lock taken requests its number, wakes the worker, and blocks on the
 * priority-inheriting lock, which boosts the holder.
 *
 *  word                    meaning                                      set by
 *  machine.needed          latest number that is requested              gp_request(), by callers that wait or poll
 *  exp_waiters.notified    the worker was woken for numbers up to this  wake_worker_for(), not a caller's own step
 *  exp_waiters.priority[]  highest priority that waits for a number     callers that leave it to the worker, or advance
 *                                                                       to the end without a worker; cleared at the
 *                                                                       grace period's end
 *
 * The setting exp_worker decides which threads advance.  kthread: callers, and a worker at SCHED_FIFO; kthread-only:
 * that worker alone; workqueue: a worker at SCHED_OTHER alone.
 * Without a worker, callers advance to the end, and the driver advances grace periods that were only requested.
 * tested by: test/api/expedited.cc
 */
#include "turn/turn.h"

/* Number of boosts by a caller before it leaves the grace period to the worker; more than one, since a reader that was
 * not running at one sample may run at the next, or other readers may have been preempted. */
#define BOOSTS_OF_CALLER 4

static struct work_worker *worker_of(const struct turn *turn)
{
    return work_worker(turn->work, WORK_WORKER_EXPEDITED);
}

static struct gp_state *machine_of(struct turn *turn)
{
    return &turn->gp_state[GP_EXPEDITED];
}

/* Does the worker run, and has it set its priority? */
static bool worker_is_there(struct turn *turn)
{
    return work_worker_has_appeared(worker_of(turn));
}

/* Wake the worker for @cookie, which has been requested, unless a thread has woken the worker for @cookie already.  A
 * sleep that begins after the wake-up ends immediately, since the wake-up count has changed.  `notified` is raised
 * after the wake-up, so no thread relies on a wake-up that a preempted thread has yet to perform.
 * [O16] Waker half; the worker's half is expedited_body().  The requested number is raised before the count of
 * wake-ups. */
static void wake_worker_for(struct turn *turn, uint64_t cookie)
{
    uint64_t notified = rtrcu_load_acquire(&turn->exp_waiters.notified);
    if (!seq_before(notified, cookie))
        return;

    work_worker_wake(worker_of(turn));
    while (seq_before(notified, cookie) && !rtrcu_compare_exchange(&turn->exp_waiters.notified, &notified, cookie))
        ; /* each failure means that another thread wrote the number first */
}

/* Request @cookie, for which the calling thread waits: the threads that complete it take its priority. */
static void request_expedited(struct turn *turn, uint64_t cookie)
{
    gp_request(turn->gp, GP_EXPEDITED, cookie);
    turn_expedited_raise(turn, cookie, (uint32_t)plat_sched_rt_priority());
}

/* Leave @cookie, for which the calling thread waits, to the worker: request it, raise the worker's priority, wake
 * it. */
static void hand_over(struct turn *turn, uint64_t cookie)
{
    request_expedited(turn, cookie);
    work_worker_lift(worker_of(turn), turn_expedited_priority(turn));
    wake_worker_for(turn, cookie);
}

/* Start the worker, and with it the threads that it needs when a reader holds it up.  On failure, wake the driver,
 * which then advances the requested grace periods.  0 or -errno. */
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

void turn_expedited_prepare(struct turn *turn)
{
    (void)start_worker(turn);
}

void turn_start_expedited(struct turn *turn, uint64_t cookie)
{
    gp_request(turn->gp, GP_EXPEDITED, cookie);
    if (reader_self_is(READER_STATE_DEADLINE)) {
        work_driver_start_in_call(turn->work); /* a fork's child may have no driver yet */
        work_driver_wake(turn->work, true);    /* the driver wakes the worker, perhaps only at its next tick */
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
    turn_boost_serve(turn);
    if (!turn_expedited_is_left(turn))
        return;

    if (work_driver_has_thread(turn->work) && work_worker_start(worker_of(turn)) == 0)
        wake_worker_for(turn, gp_needed(turn->gp, GP_EXPEDITED));
    else if (work_driver_is_me(turn->work))
        turn_if_needed(machine_of(turn), &options);
    else /* a call of the program, which must not wait: it may itself be the holdout */
        turn_step(machine_of(turn));
}

/* Called after the calling thread has released the gp lock: have grace periods advanced that other threads requested
 * while it held the lock, and left to it. */
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

/* May callers advance expedited grace periods?  Only with exp_worker=kthread.  The other values model the kernel of
 * 2022 and before: there the worker takes every step, even if no thread reads. */
static bool callers_may_advance(struct turn *turn)
{
    return config_now(turn->config)->exp_worker == RTRCU_EXP_WORKER_KTHREAD;
}

/* Does the calling thread leave every step to the worker? */
static bool leaves_it(struct turn *turn)
{
    return !callers_may_advance(turn) ||
           (work_worker_priority(worker_of(turn)) == 0 && work_caller_is_low_priority(turn->work));
}

void turn_synchronize_expedited(struct turn *turn, uint64_t cookie)
{
    struct gp_state *gp_state = machine_of(turn);
    bool deadline = reader_self_is(READER_STATE_DEADLINE); /* wakes no worker: it advances to the end */

    if (!deadline)
        start_worker(turn);

    bool alone = deadline || !worker_is_there(turn);
    if ((alone || callers_may_advance(turn)) && turn_try_immediate(gp_state, cookie)) {
        serve_requested(turn);
        return;
    }

    if (alone) {
        request_expedited(turn, cookie); /* a boost worker takes this thread's priority */
        turn_synchronize(gp_state, cookie);
        serve_requested(turn);
        return;
    }

    bool left = leaves_it(turn);
    int boosts = 0;

    while (!left && !turn_has_reached(gp_state, cookie)) { /* at most for the current grace period, the next one, and
                                                              the boosts */
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

/* [O16] Worker half; the waker's half is wake_worker_for().  The worker reads the count of wake-ups before it reads the
 * latest requested cookie.
 *  - The waker's increment of the count first:  the worker sees the cookie and advances to it;
 *  - The worker's read of the count first:  the count has changed when the worker tries to sleep, so the worker stays
 *    awake.
 * Forbidden: the worker sleeps AND has not reached a requested cookie AND no thread will wake it. */
static void *expedited_body(void *argument)
{
    static const struct turn_options options = {0};
    struct work_worker *worker = argument;
    struct gp_state *gp_state = machine_of(work_worker_owner(worker));

    while (work_goes_on(gp_state->turn->work)) {
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

static int first_priority(const struct rtrcu_config *config, int creator)
{
    return config->exp_worker != RTRCU_EXP_WORKER_WORKQUEUE ? turn_helper_priority(config, creator) : 0;
}

const struct work_job turn_job_expedited = {"rtrcu-exp", expedited_body, first_priority, NULL};

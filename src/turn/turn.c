/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One grace period from begin to end, step by step, by the driver and by every caller that waits.
 *
 * A step is either begin, fence, scan and a moment of spinning, or a later poll of the holdouts.  The gp lock is held
 * for one step and never across a sleep, so a waiter takes the next step itself when another thread is kept from its
 * CPU.
 *
 *  waits for the end        finds the gp lock taken        between its steps
 *  a real-time thread       boosts the holder              asleep on gp_state.event, at most a tick
 *  the poller               asleep on gp_state.event       the same
 *  other threads            the same                       the same, but each sleep is longer than the one before
 *  low-priority threads     leave the step to the driver   asleep on turn.gp_lock_releases
 *
 * The poller is the first thread that has to wait for readers; it polls once per tick.
 * tested by: test/api/synchronize.cc
 */
#include "turn/turn.h"

/* Polls per clock reading while spinning. */
#define SPIN_POLLS 8
/* Time that one step spins before it releases the gp lock to others. */
#define POLL_NS 50000
/* Longest pause of a waiting thread on whose polling no other thread relies; its pauses start at one tick and grow. */
#define LONGEST_REST_NS 100000000

/* If the grace period is old enough, report that it makes no progress for lack of a fence. */
static void report_fence_if_old(struct gp_state *gp_state)
{
    if (plat_clock_now() - turn_began_ns(gp_state) < gp_state->report_ns)
        return;

    watch_fence_gather(gp_state->turn->watch, gp_state->kind, -EPERM);
    work_report(gp_state->turn->work);
    gp_state->report_ns = watch_next_report(gp_state->turn->watch, gp_state->report_ns);
}

/* Scan the grace period that has begun, unless it has been scanned, after a heavy fence if some reader needs one.
 * False: no fence is available now, and the state of no reader is known. */
static bool try_to_scan(struct gp_state *gp_state)
{
    struct gp *gp = gp_state->gp;
    enum gp_kind kind = gp_state->kind;

    if (!gp_state->unscanned)
        return true;

    gp_state->fenced = gp_needs_fence(gp);
    if (gp_state->fenced && kind == GP_NORMAL)
        gp_idle_propose(gp, (uint32_t)config_now(gp_state->turn->config)->idle_scans);

    if (gp_state->fenced && !turn_fence(gp_state->turn)) {
        report_fence_if_old(gp_state);
        return false;
    }

    counter_add_alone(&gp_state->unfenced, !gp_state->fenced);
    trace3(gp_fence, gp, kind, gp_state->fenced);

    if (kind == GP_NORMAL)
        gp_idle_settle(gp, gp_state->fenced);
    gp_scan(gp, kind);
    gp_state->unscanned = false;

    return true;
}

/* Poll the readers.  If that also ends a wait for the other kind of grace period, wake one of its waiters. */
static uint32_t poll_readers(struct gp_state *gp_state, bool arm)
{
    enum gp_actions actions = GP_ACTION_NONE;
    uint32_t requested = gp_poll(gp_state->gp, gp_state->kind, arm, &actions);
    turn_perform(gp_state->turn, actions);
    return requested;
}

/* Where the holdouts last ran: on the calling thread's CPU, where none can run now, or on other CPUs. */
static enum gp_holdouts_where readers_where(struct gp_state *gp_state)
{
    return gp_holdouts_where(gp_state->gp, gp_state->kind, (uint32_t)plat_cpu_current());
}

/* Did a holdout last run on the CPU that this real-time thread occupies?  Most likely this thread preempted it. */
static bool keeps_a_reader_from_running(enum gp_holdouts_where where)
{
    return (where & GP_HOLDOUTS_HERE) && plat_sched_rt_priority() > 0;
}

/* Spin on the readers' words for a moment, since most sections end sooner than a sleep would take.  False: no holdout
 * can run meanwhile, so spinning without a pause is useless. */
static bool spin(struct gp_state *gp_state, int64_t spin_ns, bool arm)
{
    int64_t until = plat_clock_now() + spin_ns;
    enum gp_holdouts_where where = spin_ns == 0 ? GP_HOLDOUTS_NOWHERE : readers_where(gp_state);
    if (!(where & GP_HOLDOUTS_ELSEWHERE) || keeps_a_reader_from_running(where))
        return false;

    do {
        for (int i = 0; i < SPIN_POLLS && !turn_is_clear(gp_state); i++) {
            rtrcu_cpu_relax();
            poll_readers(gp_state, arm);
        }
    } while (!turn_is_clear(gp_state) && plat_clock_now() < until);

    return true;
}

/* Under the gp lock: report a grace period that is too old, at growing intervals. */
static void report_if_old(struct gp_state *gp_state)
{
    int64_t now = plat_clock_now();
    if (now - turn_began_ns(gp_state) < gp_state->report_ns || turn_is_clear(gp_state))
        return;

    watch_stall_gather(gp_state->turn->watch, gp_state->kind, now);
    work_report(gp_state->turn->work);
    gp_state->report_ns = watch_next_report(gp_state->turn->watch, gp_state->report_ns);
}

/* Request a report from each holdout.  A flag set just now, by the scan, by the other kind of grace period or for
 * callbacks, may have been cleared by a concurrent update, so check again after a fence.  Without a fence the timeout
 * of the sleep requests again; a grace period that needed no fence issues none for this either.  Ends when every
 * remaining holdout has kept the flag. */
static void request_reports(struct gp_state *gp_state)
{
    poll_readers(gp_state, true);
    while (gp_state->fenced && !turn_is_clear(gp_state)) {
        if (!turn_fence(gp_state->turn) || poll_readers(gp_state, true) == 0)
            return;
    }
}

/* Have the program's handler called, by a thread that holds no lock, whenever tasks have arrived that the grace period
 * waits for.  A parked task cannot be boosted, but its scheduler can run it first. */
static void notify_of_tasks(struct gp_state *gp_state)
{
    uint32_t came = gp_tasks_came(gp_state->gp, gp_state->kind);
    if (came == gp_state->tasks_notified || !work_has_blocking_handler(gp_state->turn->work))
        return;

    if (work_notify_handler(gp_state->turn->work))
        gp_state->tasks_notified = came;
}

/* Spin for a moment on holdouts whose reports have not been requested, then request them. */
static void spin_then_request(struct gp_state *gp_state, const struct turn_options *options)
{
    int64_t spin_ns = options->never_spins ? 0 : config_now(gp_state->turn->config)->spin_us * 1000;
    spin(gp_state, spin_ns, options->never_sleeps);
    if (turn_is_clear(gp_state))
        return;

    notify_of_tasks(gp_state);
    request_reports(gp_state);

    gp_state->requested = true;
    if (!turn_is_clear(gp_state))
        counter_add_alone(&gp_state->slept, !options->never_sleeps);
}

/* [O9] Sleeping half; the reporter's half is turn_perform().  advance_until() has read the futex before.
 *  - Our count first:  the reporter sees our count and wakes us, or wakes another sleeper, which polls instead;
 *  - The reporter's clearing first:  we see the node clear and do not sleep.
 * Forbidden: we sleep AND the reporter wakes no thread.  A reporter that is a deadline thread wakes no thread: we find
 * its report after our timeout. */
static bool poll_before_sleep(struct gp_state *gp_state)
{
    struct tally *sleeping = &gp_state->sleeping;
    tally_raise(sleeping);
    poll_readers(gp_state, true);
    if (!turn_is_clear(gp_state))
        return false;
    (void)tally_lower(sleeping);
    return true;
}

/* Begin a grace period; its scan is next.  Under the gp lock. */
static void begin(struct gp_state *gp_state)
{
    gp_state->report_ns = watch_next_report(gp_state->turn->watch, 0);
    gp_begin(gp_state->gp, gp_state->kind, plat_clock_now());
    gp_state->unscanned = true;
    gp_state->requested = false;
    gp_state->poller = PLAT_NOBODY;
}

static void end(struct gp_state *gp_state, bool by_caller)
{
    if (by_caller)
        counter_add_alone(&gp_state->by_caller, 1);
    gp_end(gp_state->gp, gp_state->kind, plat_clock_now());
    if (gp_state->kind == GP_EXPEDITED)
        turn_expedited_done(gp_state->turn);
}

/* Outcome of a step: the grace period has ended; continue immediately; or sleep, already counted as asleep. */
enum outcome { ENDED, AGAIN, ASLEEP };

/* Under the gp lock, with holdouts: request reports, or poll. */
static enum outcome request_or_poll(struct gp_state *gp_state, const struct turn_options *options)
{
    if (gp_state->requested) {
        poll_readers(gp_state, true);
        notify_of_tasks(gp_state);
        report_if_old(gp_state);
    } else {
        spin_then_request(gp_state, options);
    }

    if (options->never_sleeps && spin(gp_state, POLL_NS, true))
        return turn_is_clear(gp_state) ? ENDED : AGAIN;
    if (turn_is_clear(gp_state))
        return ENDED;

    if (turn_boost_is_due(gp_state))
        turn_boost(gp_state);
    return poll_before_sleep(gp_state) ? ENDED : ASLEEP;
}

/* Request that the driver, or threads whose quiescent states do the work, advance the same grace period: they may be
 * able to fence if the sandbox that refuses the calling thread's fence applies to that thread alone.  Under the gp
 * lock. */
static void request_driver_fence(struct gp_state *gp_state)
{
    (void)gp_request(gp_state->gp, gp_state->kind, seq_ended(turn_seq(gp_state)));
    work_driver_wake(gp_state->turn->work, true);
}

/* Begin, or continue the grace period in progress, no matter which thread began it. */
static enum outcome go_on(struct gp_state *gp_state, const struct turn_options *options)
{
    enum outcome outcome = ENDED;

    if (!turn_is_running(gp_state))
        begin(gp_state);

    if (!try_to_scan(gp_state)) { /* retry after a tick: a sandbox may permit a fence, or all readers have
                                     acknowledged */
        if (options->by_caller)
            request_driver_fence(gp_state);
        tally_raise(&gp_state->sleeping);
        return ASLEEP;
    }

    if (!turn_is_clear(gp_state))
        outcome = request_or_poll(gp_state, options);
    if (outcome == ENDED)
        end(gp_state, options->by_caller);
    return outcome;
}

/* Take one step.  Under the gp lock. */
static enum outcome step(struct gp_state *gp_state, const struct turn_options *options)
{
    enum outcome outcome = go_on(gp_state, options);
    invariant("INV-GP2", turn_is_running(gp_state) == (outcome != ENDED));
    return outcome;
}

bool turn_try_immediate(struct gp_state *gp_state, uint64_t cookie)
{
    if (!gp_nobody_reads(gp_state->gp) || !lock_try(turn_gp_lock_of(gp_state)))
        return false;

    bool passed = !turn_is_running(gp_state) && gp_try_immediate(gp_state->gp, gp_state->kind);
    if (passed) {
        counter_add_alone(&gp_state->by_caller, 1);
        if (gp_state->kind == GP_EXPEDITED)
            turn_expedited_done(gp_state->turn);
    }

    turn_gp_unlock(gp_state);
    return passed && turn_has_reached(gp_state, cookie);
}

bool turn_first(struct gp_state *gp_state)
{
    bool fresh = !turn_is_running(gp_state);
    if (fresh)
        begin(gp_state);

    if (!try_to_scan(gp_state))
        return false;

    if (!fresh)
        poll_readers(gp_state, true);
    else if (!turn_is_clear(gp_state))
        spin(gp_state, config_now(gp_state->turn->config)->spin_us * 1000, true);

    if (!turn_is_clear(gp_state))
        return false;
    end(gp_state, true);
    return true;
}

void turn_gp_lock(struct gp_state *gp_state)
{
    work_take_long(gp_state->turn->work, turn_gp_lock_of(gp_state));
}

/* [O10] Releasing half; the waiter's half is advance_until().  Waiters poll the sequence, or advance it themselves. */
void turn_gp_unlock(struct gp_state *gp_state)
{
    struct turn *turn = gp_state->turn;
    lock_release(turn_gp_lock_of(gp_state));

    rtrcu_fetch_add(&gp_state->event, 1); /* [O10] */
    if (tally_read(&gp_state->sleeping))
        plat_futex_wake(&gp_state->event, INT32_MAX);

    if (gp_state->kind == GP_NORMAL && tally_read(&turn->driver_waiters)) {
        rtrcu_fetch_add(&turn->gp_lock_releases, 1);
        plat_futex_wake(&turn->gp_lock_releases, INT32_MAX);
    }
    work_report_left(turn->work);
}

bool turn_step(struct gp_state *gp_state)
{
    bool ended = false;
    if (!lock_try(turn_gp_lock_of(gp_state)))
        return false;

    bool fresh = !turn_is_running(gp_state) && turn_is_needed(gp_state);
    if (fresh)
        begin(gp_state);

    bool scanned = turn_is_running(gp_state) && try_to_scan(gp_state);
    if (scanned && !fresh) {
        poll_readers(gp_state, true);
        notify_of_tasks(gp_state);
        report_if_old(gp_state);
    }

    if (scanned && turn_is_clear(gp_state)) {
        end(gp_state, false);
        ended = true;
    }

    turn_gp_unlock(gp_state);
    return ended;
}

/* How long the calling thread sleeps next.  @polls: other threads rely on its polling once per tick. */
static int64_t next_pause(struct turn *turn, bool polls, int64_t previous_ns)
{
    int64_t tick_ns = work_tick_ns(turn->work);
    if (polls || previous_ns == 0 || plat_sched_rt_priority() > 0)
        return tick_ns;
    return previous_ns < LONGEST_REST_NS ? 2 * previous_ns : previous_ns;
}

/* Under the gp lock: take one step and release the lock.  @polls: does the calling thread poll once per tick? */
static enum outcome step_and_release(struct gp_state *gp_state, const struct turn_options *options, bool *polls)
{
    enum outcome outcome = step(gp_state, options);
    if (outcome == ENDED) {
        turn_gp_unlock(gp_state);
        return outcome;
    }

    if (plat_tid_is_nobody(gp_state->poller))
        gp_state->poller = lock_thread_id();
    *polls = plat_tid_is(gp_state->poller, lock_thread_id());

    lock_release(turn_gp_lock_of(gp_state)); /* wakes no waiter: this thread and the poller poll again */
    work_report_left(gp_state->turn->work);
    return outcome;
}

/* Take the gp lock for a step.  False: another thread holds it, and the calling thread has no real-time priority that
 * would boost the holder. */
static bool take_for_step(struct gp_state *gp_state)
{
    if (lock_try(turn_gp_lock_of(gp_state)))
        return true;
    if (plat_sched_rt_priority() == 0)
        return false;

    turn_gp_lock(gp_state);
    return true;
}

/* Call options->serve at most once per tick, while readers hold up the calling thread.  Meanwhile ready callbacks may
 * lose their owner or their daemon, or may exceed one batch.  True: the calling thread need not wait for these readers
 * any more. */
static bool serve_meanwhile(struct turn *turn, const struct turn_options *options, int64_t *served_ns)
{
    int64_t now = options->serve ? plat_clock_now() : 0;
    if (now - *served_ns < work_tick_ns(turn->work))
        return false;

    *served_ns = now;
    return options->serve(turn->serve);
}

/* The calling thread stops waiting while the grace period is in progress: if it is the poller, another thread becomes
 * it. */
static void stop_polling(struct gp_state *gp_state)
{
    turn_gp_lock(gp_state);
    if (plat_tid_is(gp_state->poller, lock_thread_id()))
        gp_state->poller = PLAT_NOBODY;
    turn_gp_unlock(gp_state);
}

/* Advance until the grace period of @cookie has passed, together with all other waiters.
 *
 * [O10] Waiter half; the releasing half is turn_gp_unlock().  The waiter reads the event count before it tries to take
 * the gp lock.
 *  - Our attempt first:  the holder releases the lock later and increments the event count, so our sleep ends or does
 *    not begin; or the holder sleeps and polls by itself, so the grace period has a poller;
 *  - The holder's release first:  our attempt succeeds.
 * Forbidden: we sleep AND no thread holds the lock, polls the grace period, or will increment the event count. */
static void advance_until(struct gp_state *gp_state, uint64_t cookie, const struct turn_options *options)
{
    struct turn *turn = gp_state->turn;
    int64_t pause_ns = 0, served_ns = options->serve ? plat_clock_now() : 0;

    while (!turn_has_reached(gp_state, cookie)) { /* at most for the current grace period and the next */
        bool polls = false;
        if (serve_meanwhile(turn, options, &served_ns))
            return stop_polling(gp_state);

        uint32_t event = rtrcu_load_acquire(&gp_state->event);
        if (!take_for_step(gp_state)) {
            tally_raise(&gp_state->sleeping);
        } else if (turn_has_reached(gp_state, cookie)) {
            turn_gp_unlock(gp_state);
            return;
        } else if (step_and_release(gp_state, options, &polls) != ASLEEP) {
            continue;
        }

        pause_ns = next_pause(turn, polls, pause_ns);
        work_sleep(turn->work, &gp_state->event, event, pause_ns);
        (void)tally_lower(&gp_state->sleeping);
    }
}

void turn_if_needed(struct gp_state *gp_state, const struct turn_options *options)
{
    uint64_t cookie;
    if (gp_next_needed(gp_state->gp, gp_state->kind, &cookie))
        advance_until(gp_state, cookie, options);
}

/* A caller that may be preempted at any moment, even within a step, leaves the gp lock to the driver; otherwise every
 * thread that waits for the lock would be delayed as long.  The caller wakes the driver again at intervals, since the
 * driver may not have started.
 * [O10] The caller counts itself as a waiter, then reads the event count, then the sequence. */
static void leave_to_driver(struct gp_state *gp_state, uint64_t cookie)
{
    struct turn *turn = gp_state->turn;
    int64_t patience_ns = work_tick_ns(turn->work);
    gp_request(gp_state->gp, GP_NORMAL, cookie);

    while (!turn_has_reached(gp_state, cookie) &&
           work_driver_start(turn->work) == 0) { /* at most for two grace periods */
        work_driver_wake(turn->work, true);
        tally_raise(&turn->driver_waiters);
        uint32_t gp_lock_releases = rtrcu_load_acquire(&turn->gp_lock_releases);
        bool reached = turn_has_reached(gp_state, cookie);
        work_sleep(turn->work, &turn->gp_lock_releases, gp_lock_releases, reached ? 0 : patience_ns);
        (void)tally_lower(&turn->driver_waiters);

        patience_ns *= patience_ns < LONGEST_REST_NS ? 2 : 1;
    }
}

void turn_synchronize(struct gp_state *gp_state, uint64_t cookie)
{
    static const struct turn_options caller = {.by_caller = true};
    const struct turn *turn = gp_state->turn;
    bool deadline = reader_self_is(READER_STATE_DEADLINE);

    if (gp_state->kind == GP_NORMAL && !deadline && work_driver_has_thread(turn->work) &&
        work_caller_is_low_priority(turn->work))
        leave_to_driver(gp_state, cookie);

    if (turn_try_immediate(gp_state, cookie))
        return;
    advance_until(gp_state, cookie, &caller);
}

void turn_gp_state_init(struct gp_state *gp_state, struct turn *turn, enum gp_kind kind)
{
    gp_state->turn = turn;
    gp_state->gp = turn->gp;
    gp_state->kind = kind;
}

void turn_gp_state_after_fork_child(struct gp_state *gp_state)
{
    gp_state->unscanned = gp_state->requested = false; /* the next step begins a grace period and scans it */
    rtrcu_store_relaxed(&gp_state->event, 0);
    tally_reset(&gp_state->sleeping);
}

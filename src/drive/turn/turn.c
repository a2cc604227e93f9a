/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One grace period from begin to end, step by step, by the driver and by every caller that waits.
 *
 * A step is begin, fence and scan, and a moment of watching; or a later look at who is still inside.  The crank is held
 * over one step, never over a sleep, so whoever waits takes the next step itself where another is kept from its CPU.
 *
 *  waits for the end       finds the crank taken    between its steps
 *  a real-time thread      boosts the holder        asleep on turning.event, at most a tick
 *  the watcher             asleep on turning.event  the same
 *  others                  the same                 the same, but longer and longer
 *  one of low priority     has the driver do it     asleep on drive.turns
 *
 * The watcher is the first thread that has to wait for readers; it looks once a tick.
 * tested by: test/api/synchronize.cc
 */
#include "drive/drive.h"

/* Polls per clock reading while spinning. */
#define SPIN_POLLS 8
/* How long poll watches before it lets others have the crank. */
#define POLL_NS 50000
/* A thread that only helps, or has the driver turn, looks again after a tick, then later and later, at last after so
 * long. */
#define LONGEST_REST_NS 100000000

/* Grace periods stand still without a fence, and say so. */
static void report_fence_if_old(struct drive *drive, enum gp_kind kind)
{
    if (plat_clock_now() - gp_began_ns(drive->gp, kind) < drive->turning[kind].report_ns)
        return;

    watch_fence_gather(drive->watch, kind, -EPERM);
    drive_report(drive);
    drive->turning[kind].report_ns = watch_next_report(drive->watch, drive->turning[kind].report_ns);
}

/* The scan of a grace period that has begun, behind a fence if anybody needs one, unless it has been done.  False: no
 * fence is to be had now, and nothing is known of any reader yet. */
static bool try_to_scan(struct drive *drive, enum gp_kind kind)
{
    if (!drive->turning[kind].unscanned)
        return true;

    drive->turning[kind].fenced = gp_needs_fence(drive->gp);
    if (drive->turning[kind].fenced && kind == GP_NORMAL)
        gp_doze(drive->gp, (uint32_t)config_now(drive->config)->idle_scans);

    if (drive->turning[kind].fenced && !drive_fence(drive)) {
        report_fence_if_old(drive, kind);
        return false;
    }

    counter_add_alone(&drive->turning[kind].unfenced, !drive->turning[kind].fenced);
    trace3(gp_fence, drive->gp, kind, drive->turning[kind].fenced);

    if (kind == GP_NORMAL)
        gp_settle(drive->gp, drive->turning[kind].fenced);
    gp_scan(drive->gp, kind);
    drive->turning[kind].unscanned = false;

    return true;
}

/* Look at the readers; where that ends a wait for the other kind of grace period too, wake one who waits for it. */
static uint32_t poll_readers(struct drive *drive, enum gp_kind kind, bool arm)
{
    enum gp_actions actions = GP_ACTION_NONE;
    uint32_t asked = gp_poll(drive->gp, kind, arm, &actions);
    drive_perform(drive, actions);
    return asked;
}

/* Readers in the way that were last seen on the calling thread's CPU do not run while it does. */
static enum gp_owing_where readers_where(struct drive *drive, enum gp_kind kind)
{
    return gp_owing_where(drive->gp, kind, (uint32_t)plat_cpu_current());
}

/* A reader in the way was last seen on the CPU that we hold as a real-time thread: most likely we preempted it. */
static bool keeps_a_reader_from_running(enum gp_owing_where where)
{
    return (where & GP_OWING_HERE) && plat_sched_rt_priority() > 0;
}

/* Watch readers for a moment: most sections end sooner than a sleep would take.  False: no reader in the way can run
 * meanwhile, so that looking without a rest would show nothing. */
static bool spin(struct drive *drive, enum gp_kind kind, int64_t spin_ns, bool arm)
{
    int64_t until = plat_clock_now() + spin_ns;
    enum gp_owing_where where = spin_ns == 0 ? GP_OWING_NOWHERE : readers_where(drive, kind);
    if (!(where & GP_OWING_ELSEWHERE) || keeps_a_reader_from_running(where))
        return false;

    do {
        for (int i = 0; i < SPIN_POLLS && !gp_is_clear(drive->gp, kind); i++) {
            rtrcu_cpu_relax();
            poll_readers(drive, kind, arm);
        }
    } while (!gp_is_clear(drive->gp, kind) && plat_clock_now() < until);

    return true;
}

/* Under the crank: a grace period that has become too old is reported, at growing intervals. */
static void report_if_old(struct drive *drive, enum gp_kind kind)
{
    int64_t now = plat_clock_now();
    if (now - gp_began_ns(drive->gp, kind) < drive->turning[kind].report_ns || gp_is_clear(drive->gp, kind))
        return;

    watch_stall_gather(drive->watch, kind, now);
    drive_report(drive);
    drive->turning[kind].report_ns = watch_next_report(drive->watch, drive->turning[kind].report_ns);
}

/* Ask those in the way.  A reader that was asked just now, by the scan, the other kind or for its callbacks as well,
 * may have lost the flag in an update under way: so look again behind a fence; without one the timeout of the sleep
 * asks again.  A grace period that needed no fence makes none for this either.  It ends when all who are left kept the
 * flag. */
static void ask(struct drive *drive, enum gp_kind kind)
{
    poll_readers(drive, kind, true);
    while (drive->turning[kind].fenced && !gp_is_clear(drive->gp, kind)) {
        if (!drive_fence(drive) || poll_readers(drive, kind, true) == 0)
            return;
    }
}

/* A parked task cannot be given a CPU, but whoever schedules it can run it first: its handler is told by a thread that
 * holds nothing, whenever tasks have come that the grace period waits for. */
static void tell_tasks(struct drive *drive, enum gp_kind kind)
{
    uint32_t came = gp_tasks_came(drive->gp, kind);
    if (came == drive->turning[kind].tasks_told || !rtrcu_load_acquire(&drive->blocking_handler))
        return;

    if (drive_tell_handler(drive))
        drive->turning[kind].tasks_told = came;
}

/* Readers are in the way, and nobody has been asked yet: watch for a moment, then ask. */
static void watch_and_ask(struct drive *drive, enum gp_kind kind, const struct drive_turn_options *options)
{
    int64_t spin_ns = options->never_spins ? 0 : config_now(drive->config)->spin_us * 1000;
    spin(drive, kind, spin_ns, options->never_sleeps);
    if (gp_is_clear(drive->gp, kind))
        return;

    tell_tasks(drive, kind);
    ask(drive, kind);

    drive->turning[kind].asked = true;
    if (!gp_is_clear(drive->gp, kind))
        counter_add_alone(&drive->turning[kind].slept, !options->never_sleeps);
}

/* [O9] Sleeping half; the reporter's half is drive_perform().  The futex has been read before, by turn_until().
 *  - our count first:      the reporter sees it and wakes us, or another who sleeps here and looks instead;
 *  - its clearing first:   we see the node clear and do not sleep.
 * Forbidden: we sleep AND the reporter wakes nobody.  A deadline thread never does: the timeout finds its report.
 * litmus: O9 */
static bool look_before_sleep(struct drive *drive, enum gp_kind kind)
{
    struct tally *sleeping = &drive->turning[kind].sleeping;
    tally_raise(sleeping);
    poll_readers(drive, kind, true);
    if (!gp_is_clear(drive->gp, kind))
        return false;
    (void)tally_lower(sleeping);
    return true;
}

/* Begin a grace period; its scan is next.  Under the crank. */
static void begin(struct drive *drive, enum gp_kind kind)
{
    drive->turning[kind].report_ns = watch_next_report(drive->watch, 0);
    gp_begin(drive->gp, kind, plat_clock_now());
    drive->turning[kind].unscanned = true;
    drive->turning[kind].asked = false;
    drive->turning[kind].watcher = PLAT_NOBODY;
}

static void end(struct drive *drive, enum gp_kind kind, bool by_caller)
{
    if (by_caller)
        counter_add_alone(&drive->turning[kind].by_caller, 1);
    gp_end(drive->gp, kind, plat_clock_now());
    if (kind == GP_EXPEDITED)
        drive_expedited_done(drive);
}

/* What a step has come to: the grace period has ended; or go on at once; or sleep, already counted as asleep. */
enum outcome { ENDED, AGAIN, ASLEEP };

/* Under the crank, readers are in the way: ask them, or look again. */
static enum outcome look(struct drive *drive, enum gp_kind kind, const struct drive_turn_options *options)
{
    if (drive->turning[kind].asked) {
        poll_readers(drive, kind, true);
        tell_tasks(drive, kind);
        report_if_old(drive, kind);
    } else {
        watch_and_ask(drive, kind, options);
    }

    if (options->never_sleeps && spin(drive, kind, POLL_NS, true))
        return gp_is_clear(drive->gp, kind) ? ENDED : AGAIN;
    if (gp_is_clear(drive->gp, kind))
        return ENDED;

    if (drive_boost_is_due(drive, kind))
        drive_boost(drive, kind);
    return look_before_sleep(drive, kind) ? ENDED : ASLEEP;
}

/* Under the crank: no fence is to be had for the calling thread.  If the sandbox is its alone, the driver can still
 * fence, or those whose quiescent states do the work: so they are asked to turn the same grace period. */
static void ask_for_fence(struct drive *drive, enum gp_kind kind)
{
    (void)gp_request(drive->gp, kind, seq_ended(gp_seq(drive->gp, kind)));
    drive_wake(drive, true);
}

/* Begin, or go on with what is under way, whoever began it. */
static enum outcome go_on(struct drive *drive, enum gp_kind kind, const struct drive_turn_options *options)
{
    enum outcome outcome = ENDED;

    if (!gp_is_running(drive->gp, kind))
        begin(drive, kind);

    if (!try_to_scan(drive, kind)) { /* again after a tick: a sandbox may allow a fence, or all have acknowledged */
        if (options->by_caller)
            ask_for_fence(drive, kind);
        tally_raise(&drive->turning[kind].sleeping);
        return ASLEEP;
    }

    if (!gp_is_clear(drive->gp, kind))
        outcome = look(drive, kind, options);
    if (outcome == ENDED)
        end(drive, kind, options->by_caller);
    return outcome;
}

/* Under the crank. */
static enum outcome step(struct drive *drive, enum gp_kind kind, const struct drive_turn_options *options)
{
    enum outcome outcome = go_on(drive, kind, options);
    invariant("INV-GP2", gp_is_running(drive->gp, kind) == (outcome != ENDED));
    return outcome;
}

bool drive_pass_alone(struct drive *drive, enum gp_kind kind, uint64_t cookie)
{
    if (!gp_nobody_reads(drive->gp) || !lock_try(gp_crank(drive->gp, kind)))
        return false;

    bool passed = !gp_is_running(drive->gp, kind) && gp_pass_alone(drive->gp, kind);
    if (passed) {
        counter_add_alone(&drive->turning[kind].by_caller, 1);
        if (kind == GP_EXPEDITED)
            drive_expedited_done(drive);
    }

    drive_release_crank(drive, kind);
    return passed && gp_reached(drive->gp, kind, cookie);
}

bool drive_turn_first(struct drive *drive, enum gp_kind kind)
{
    bool fresh = !gp_is_running(drive->gp, kind);
    if (fresh)
        begin(drive, kind);

    if (!try_to_scan(drive, kind))
        return false;

    if (!fresh)
        poll_readers(drive, kind, true);
    else if (!gp_is_clear(drive->gp, kind))
        spin(drive, kind, config_now(drive->config)->spin_us * 1000, true);

    if (!gp_is_clear(drive->gp, kind))
        return false;
    end(drive, kind, true);
    return true;
}

/* [O10] Releasing half; the waiter's is turn_until().  Those who wait look at the sequence, or turn it themselves. */
void drive_release_crank(struct drive *drive, enum gp_kind kind)
{
    struct drive_turning *turning = &drive->turning[kind];
    lock_release(gp_crank(drive->gp, kind));

    rtrcu_fetch_add(&turning->event, 1); /* [O10] */
    if (tally_read(&turning->sleeping))
        plat_futex_wake(&turning->event, INT32_MAX);

    if (kind == GP_NORMAL && tally_read(&drive->turn_waiters)) {
        rtrcu_fetch_add(&drive->turns, 1);
        plat_futex_wake(&drive->turns, INT32_MAX);
    }
    drive_report_left(drive);
}

bool drive_step(struct drive *drive, enum gp_kind kind)
{
    bool ended = false;
    if (!lock_try(gp_crank(drive->gp, kind)))
        return false;

    bool fresh = !gp_is_running(drive->gp, kind) && gp_is_needed(drive->gp, kind);
    if (fresh)
        begin(drive, kind);

    bool scanned = gp_is_running(drive->gp, kind) && try_to_scan(drive, kind);
    if (scanned && !fresh) {
        poll_readers(drive, kind, true);
        tell_tasks(drive, kind);
        report_if_old(drive, kind);
    }

    if (scanned && gp_is_clear(drive->gp, kind)) {
        end(drive, kind, false);
        ended = true;
    }

    drive_release_crank(drive, kind);
    return ended;
}

/* How long the calling thread sleeps next.  @watches: others rely on its looking once a tick. */
static int64_t next_pause(struct drive *drive, bool watches, int64_t previous_ns)
{
    int64_t tick_ns = drive_tick_ns(drive);
    if (watches || previous_ns == 0 || plat_sched_rt_priority() > 0)
        return tick_ns;
    return previous_ns < LONGEST_REST_NS ? 2 * previous_ns : previous_ns;
}

/* Under the crank: one step, and its release.  @watches: is it the calling thread that looks once a tick? */
static enum outcome step_and_release(struct drive *drive, enum gp_kind kind, const struct drive_turn_options *options,
                                     bool *watches)
{
    enum outcome outcome = step(drive, kind, options);
    if (outcome == ENDED) {
        drive_release_crank(drive, kind);
        return outcome;
    }

    if (plat_tid_is_nobody(drive->turning[kind].watcher))
        drive->turning[kind].watcher = lock_thread_id();
    *watches = plat_tid_is(drive->turning[kind].watcher, lock_thread_id());

    lock_release(gp_crank(drive->gp, kind)); /* nobody is to be woken: this thread and the watcher look again */
    drive_report_left(drive);
    return outcome;
}

/* False: another has it, and an ordinary thread could not help him by waiting for it. */
static bool take_for_step(struct drive *drive, enum gp_kind kind)
{
    if (lock_try(gp_crank(drive->gp, kind)))
        return true;
    if (plat_sched_rt_priority() == 0)
        return false;

    drive_take_crank(drive, kind);
    return true;
}

/* A thread that serves is at it for as long as readers take; meanwhile ready callbacks may lose their owner, or their
 * daemon, or be more than one turn runs.  True: the calling thread need not wait for these readers any more. */
static bool serve_meanwhile(struct drive *drive, const struct drive_turn_options *options, int64_t *served_ns)
{
    int64_t now = options->serves ? plat_clock_now() : 0;
    if (now - *served_ns < drive_tick_ns(drive))
        return false;

    *served_ns = now;
    (void)drive_dispatch(drive);
    return options->for_barrier && callback_barrier_reached(drive->cb);
}

/* The calling thread leaves a grace period that is under way: another looks once a tick from now on. */
static void stop_watching(struct drive *drive, enum gp_kind kind)
{
    drive_take_crank(drive, kind);
    if (plat_tid_is(drive->turning[kind].watcher, lock_thread_id()))
        drive->turning[kind].watcher = PLAT_NOBODY;
    drive_release_crank(drive, kind);
}

/* Turn until the grace period of @cookie has passed, together with whoever else waits.
 *
 * [O10] Waiter half; drive_release_crank() is the other.  The count is read before the crank is tried.
 *  - our attempt first:  the holder of the crank releases it later and counts, or sleeps and looks again itself; so our
 *                        sleep ends or does not begin, or the grace period has who looks after it;
 *  - its release first:  the attempt succeeds.
 * Forbidden: we sleep AND nobody holds the crank or will count.   litmus: O10 */
static void turn_until(struct drive *drive, enum gp_kind kind, uint64_t cookie,
                       const struct drive_turn_options *options)
{
    struct drive_turning *turning = &drive->turning[kind];
    int64_t pause_ns = 0, served_ns = options->serves ? plat_clock_now() : 0;

    while (!gp_reached(drive->gp, kind, cookie)) { /* at most the gp under way and the next */
        bool watches = false;
        if (serve_meanwhile(drive, options, &served_ns))
            return stop_watching(drive, kind);

        uint32_t event = rtrcu_load_acquire(&turning->event);
        if (!take_for_step(drive, kind)) {
            tally_raise(&turning->sleeping);
        } else if (gp_reached(drive->gp, kind, cookie)) {
            drive_release_crank(drive, kind);
            return;
        } else if (step_and_release(drive, kind, options, &watches) != ASLEEP) {
            continue;
        }

        pause_ns = next_pause(drive, watches, pause_ns);
        drive_sleep(drive, &turning->event, event, pause_ns);
        (void)tally_lower(&turning->sleeping);
    }
}

void drive_turn_if_needed(struct drive *drive, enum gp_kind kind, const struct drive_turn_options *options)
{
    uint64_t cookie;
    if (gp_next_needed(drive->gp, kind, &cookie))
        turn_until(drive, kind, cookie, options);
}

/* A caller that others may keep from its CPU at any moment, in a step too, leaves the crank to the driver: whoever
 * waited for the crank would be kept waiting as long.  It wakes the driver again now and then, since a driver may not
 * have come to be.
 * [O10] It counts as a waiter, then reads the count of turns, then the sequence. */
static void have_it_turned(struct drive *drive, uint64_t cookie)
{
    int64_t patience_ns = drive_tick_ns(drive);
    gp_request(drive->gp, GP_NORMAL, cookie);

    while (!gp_reached(drive->gp, GP_NORMAL, cookie) && drive_start(drive) == 0) { /* at most two grace periods */
        drive_wake(drive, true);
        tally_raise(&drive->turn_waiters);
        uint32_t turns = rtrcu_load_acquire(&drive->turns);
        bool reached = gp_reached(drive->gp, GP_NORMAL, cookie);
        drive_sleep(drive, &drive->turns, turns, reached ? 0 : patience_ns);
        (void)tally_lower(&drive->turn_waiters);

        patience_ns *= patience_ns < LONGEST_REST_NS ? 2 : 1;
    }
}

void drive_synchronize(struct drive *drive, enum gp_kind kind, uint64_t cookie)
{
    static const struct drive_turn_options caller = {.by_caller = true};
    bool deadline = reader_self_is(READER_STATE_DEADLINE);

    if (kind == GP_NORMAL && !deadline && drive_row(drive)->body && drive_caller_is_weak(drive))
        have_it_turned(drive, cookie);

    if (drive_pass_alone(drive, kind, cookie))
        return;
    turn_until(drive, kind, cookie, &caller);
}

void drive_turning_after_fork_child(struct drive_turning *turning)
{
    turning->unscanned = turning->asked = false; /* the next step looks at readers as the first one does */
    rtrcu_store_relaxed(&turning->event, 0);
    tally_reset(&turning->sleeping);
}

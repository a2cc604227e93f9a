/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Turning the crank: one grace period from begin to end, by the driver or by a caller who waits for it.
 *
 * tested by: test/api/synchronize.cc
 */
#include "drive/drive.h"

/* Polls per clock reading while spinning. */
#define SPIN_POLLS 8
/* How long a caller that leaves the crank to the driver sleeps before it wakes the driver again. */
#define PATIENCE_NS 100000000

/* Grace periods stand still without a fence, and say so. */
static void report_fence_if_old(struct drive *drive, enum gp_kind kind)
{
    if (plat_clock_now() - drive->gp->machine[kind].began_ns < drive->report_ns[kind])
        return;
    watch_fence_gather(drive->watch, kind, -EPERM);
    drive_report(drive);
    drive->report_ns[kind] = watch_next_report(drive->watch, drive->report_ns[kind]);
}

/* The scan of a grace period that has begun, behind a fence, unless it has been done.  False: no fence is to be had
 * now, and nothing is known of any reader yet. */
static bool try_to_scan(struct drive *drive, enum gp_kind kind)
{
    if (!drive->unscanned[kind])
        return true;
    if (!drive_fence(drive)) {
        report_fence_if_old(drive, kind);
        return false;
    }
    gp_scan(drive->gp, kind);
    drive->unscanned[kind] = false;
    return true;
}

/* Look at the readers, and wake the other kind's crank where that ends its wait too. */
static uint32_t poll_readers(struct drive *drive, enum gp_kind kind, bool arm)
{
    unsigned int actions = GP_ACTION_NONE;
    uint32_t asked = gp_poll(drive->gp, kind, arm, &actions);
    drive_perform(drive, actions);
    return asked;
}

/* Readers in the way that were last seen on the calling thread's CPU do not run while it does. */
static unsigned int readers_where(struct drive *drive, enum gp_kind kind)
{
    return gp_owing_where(drive->gp, kind, (uint32_t)plat_cpu_current());
}

/* A reader in the way was last seen on the CPU that we hold as a real-time thread: most likely we preempted it. */
static bool keeps_a_reader_from_running(unsigned int where)
{
    return (where & GP_OWING_HERE) && plat_sched_rt_priority() > 0;
}

/* Watch readers for a moment: most sections end sooner than a sleep would take.  False: no reader in the way can run
 * meanwhile, so that looking without a rest would show nothing. */
static bool spin(struct drive *drive, enum gp_kind kind, int64_t spin_ns, bool arm)
{
    int64_t until = plat_clock_now() + spin_ns;
    unsigned int where = spin_ns == 0 ? 0 : readers_where(drive, kind);
    if (!(where & GP_OWING_ELSEWHERE) || keeps_a_reader_from_running(where))
        return false;
    do {
        for (int i = 0; i < SPIN_POLLS; i++) {
            if (gp_is_clear(drive->gp, kind))
                return true;
            rtrcu_cpu_relax();
            poll_readers(drive, kind, arm);
        }
    } while (plat_clock_now() < until);
    return true;
}

/* [O9] Crank half; the reporter's half is drive_perform().
 *  - our flag first:       the reporter sees it and wakes us;
 *  - its clearing first:   we see the node clear and do not sleep.
 * Forbidden: we sleep AND the reporter wakes nobody.  A deadline thread never does: the timeout finds its report.
 * litmus: O9 */
static void sleep_once(struct drive *drive, enum gp_kind kind, int64_t timeout_ns)
{
    struct gp_machine *machine = &drive->gp->machine[kind];
    uint32_t event = rtrcu_load_acquire(&machine->event);
    rtrcu_exchange(&machine->sleeping, 1);
    gp_poll_anonymous(drive->gp, kind);
    if (!gp_is_clear(drive->gp, kind))
        drive_sleep(drive, &machine->event, event, timeout_ns);
    rtrcu_store_release(&machine->sleeping, 0);
    poll_readers(drive, kind, true);
}

static void wait_once(struct drive *drive, enum gp_kind kind)
{
    if (drive_boost_is_due(drive, kind))
        drive_boost(drive, kind);
    sleep_once(drive, kind, drive_tick_ns(drive));
}

/* Under the crank: a grace period that has become too old is reported, at growing intervals. */
static void report_if_old(struct drive *drive, enum gp_kind kind)
{
    int64_t now = plat_clock_now();
    if (now - drive->gp->machine[kind].began_ns < drive->report_ns[kind] || gp_is_clear(drive->gp, kind))
        return;
    watch_stall_gather(drive->watch, kind, now);
    drive_report(drive);
    drive->report_ns[kind] = watch_next_report(drive->watch, drive->report_ns[kind]);
}

/* Ask those in the way.  Whoever was asked just now, by the scan, the other kind or for its callbacks as well, may have
 * lost the flag in an update under way: so look again behind a fence; without one the timeout of the sleep asks again.
 */
static void ask(struct drive *drive, enum gp_kind kind)
{
    poll_readers(drive, kind, true);
    while (!gp_is_clear(drive->gp, kind)) { /* ends when all who are left kept the flag */
        if (!drive_fence(drive) || poll_readers(drive, kind, true) == 0)
            return;
    }
}

/* A parked task cannot be lent a CPU, but whoever schedules it can run it first: its handler is told by a thread that
 * holds nothing, whenever tasks have come that the grace period waits for. */
static void tell_tasks(struct drive *drive, enum gp_kind kind)
{
    uint32_t came = rtrcu_load_acquire(&drive->gp->machine[kind].tasks_came);
    if (came == drive->tasks_told[kind] || !rtrcu_load_acquire(&drive->blocking_handler))
        return;
    if (drive_tell_handler(drive))
        drive->tasks_told[kind] = came;
}

static void wait_for_readers(struct drive *drive, enum gp_kind kind, const struct drive_manner *manner)
{
    struct gp_machine *machine = &drive->gp->machine[kind];
    int64_t spin_ns = manner->never_spins ? 0 : callback_config(drive->cb)->spin_us * 1000;
    spin(drive, kind, spin_ns, manner->never_sleeps);
    if (gp_is_clear(drive->gp, kind))
        return;
    tell_tasks(drive, kind);
    ask(drive, kind);
    if (!gp_is_clear(drive->gp, kind))
        rtrcu_count_add(&machine->slept, !manner->never_sleeps);
    while (!gp_is_clear(drive->gp, kind)) { /* ends when the readers' sections end */
        if (!manner->never_sleeps || !spin(drive, kind, drive_tick_ns(drive), true))
            wait_once(drive, kind);
        tell_tasks(drive, kind);
        report_if_old(drive, kind);
    }
}

/* Begin a grace period; its scan is next.  Under the crank. */
static void begin(struct drive *drive, enum gp_kind kind)
{
    drive->report_ns[kind] = watch_next_report(drive->watch, 0);
    gp_begin(drive->gp, kind, plat_clock_now());
    drive->unscanned[kind] = true;
}

static void end(struct drive *drive, enum gp_kind kind, bool by_caller)
{
    if (by_caller)
        rtrcu_count_add(&drive->gp->machine[kind].by_caller, 1);
    gp_end(drive->gp, kind, plat_clock_now());
    if (kind == GP_EXPEDITED)
        drive_expedited_done(drive);
}

/* Under the crank.  Somebody may have left one under way: that one is ended. */
static void turn(struct drive *drive, enum gp_kind kind, const struct drive_manner *manner)
{
    if (!seq_is_running(drive->gp->machine[kind].seq))
        begin(drive, kind);
    while (!try_to_scan(drive, kind)) /* ends when a sandbox allows a fence, or every reader has acknowledged */
        plat_clock_sleep(drive_tick_ns(drive));
    if (!gp_is_clear(drive->gp, kind))
        wait_for_readers(drive, kind, manner);
    end(drive, kind, manner->by_caller);
}

bool drive_turn_first(struct drive *drive, enum gp_kind kind)
{
    bool fresh = !seq_is_running(drive->gp->machine[kind].seq);
    if (fresh)
        begin(drive, kind);
    if (!try_to_scan(drive, kind))
        return false;
    if (!fresh)
        poll_readers(drive, kind, false);
    else if (!gp_is_clear(drive->gp, kind))
        spin(drive, kind, callback_config(drive->cb)->spin_us * 1000, false);
    if (!gp_is_clear(drive->gp, kind))
        return false;
    end(drive, kind, true);
    return true;
}

/* Release the crank and wake those who wait for it to stop: each looks at the sequence, or turns it itself. */
void drive_release_crank(struct drive *drive, enum gp_kind kind)
{
    lock_release(&drive->gp->machine[kind].crank);
    rtrcu_fetch_add(&drive->turns[kind], 1); /* [O10] */
    if (rtrcu_load_relaxed(&drive->turn_waiters[kind]))
        plat_futex_wake(&drive->turns[kind], INT32_MAX);
}

void drive_turn_if_needed(struct drive *drive, enum gp_kind kind, const struct drive_manner *manner)
{
    drive_take_crank(drive, kind);
    if (gp_is_needed(drive->gp, kind))
        turn(drive, kind, manner);
    drive_release_crank(drive, kind);
}

bool drive_step(struct drive *drive, enum gp_kind kind)
{
    struct gp_machine *machine = &drive->gp->machine[kind];
    bool ended = false;
    if (!lock_try(&machine->crank))
        return false;
    bool fresh = !seq_is_running(machine->seq) && gp_is_needed(drive->gp, kind);
    if (fresh)
        begin(drive, kind);
    bool scanned = seq_is_running(machine->seq) && try_to_scan(drive, kind);
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

static void turn_for_cookie(struct drive *drive, enum gp_kind kind, uint64_t cookie)
{
    static const struct drive_manner caller = {.by_caller = true};
    if (!gp_reached(drive->gp, kind, cookie))
        turn(drive, kind, &caller);
    drive_release_crank(drive, kind);
}

/* One wait for the crank's release, at most @timeout_ns.  @turns: its count before the crank was tried. */
static void wait_for_release(struct drive *drive, enum gp_kind kind, uint32_t turns, int64_t timeout_ns)
{
    rtrcu_fetch_add(&drive->turn_waiters[kind], 1);
    drive_sleep(drive, &drive->turns[kind], turns, timeout_ns);
    rtrcu_fetch_add(&drive->turn_waiters[kind], (uint32_t)-1);
}

/* A caller that others may keep from its CPU at any moment leaves the crank to the driver: whoever waited for it would
 * be kept waiting as long.  It wakes the driver again now and then, since a driver may not have come to be. */
static void have_it_turned(struct drive *drive, uint64_t cookie)
{
    int64_t patience_ns = drive_tick_ns(drive);
    gp_request(drive->gp, GP_NORMAL, cookie);
    while (!gp_reached(drive->gp, GP_NORMAL, cookie) && drive_start(drive) == 0) { /* at most two grace periods */
        uint32_t turns = rtrcu_load_acquire(&drive->turns[GP_NORMAL]);
        drive_wake(drive, true);
        if (gp_reached(drive->gp, GP_NORMAL, cookie))
            return;
        wait_for_release(drive, GP_NORMAL, turns, patience_ns);
        patience_ns *= patience_ns < PATIENCE_NS ? 2 : 1;
    }
}

/* [O10] Waiter half; drive_release_crank() is the other.  The count is read before the crank is tried.
 *  - our attempt first:  who holds the crank releases it later and counts, so the sleep ends or does not begin;
 *  - its release first:  the attempt succeeds.
 * Forbidden: we sleep AND nobody holds the crank or will count.   litmus: O10 */
void drive_synchronize(struct drive *drive, enum gp_kind kind, uint64_t cookie)
{
    struct lock *crank = &drive->gp->machine[kind].crank;
    bool deadline = rtrcu_self.state & READER_STATE_DEADLINE;
    if (kind == GP_NORMAL && !deadline && drive_row(drive)->body && drive_caller_is_weak(drive))
        have_it_turned(drive, cookie);
    while (!gp_reached(drive->gp, kind, cookie)) { /* at most the gp under way and the next */
        uint32_t turns = rtrcu_load_acquire(&drive->turns[kind]);
        if (lock_try(crank)) {
            turn_for_cookie(drive, kind, cookie);
        } else if (plat_sched_rt_priority() > 0) {
            drive_take_crank(drive, kind);
            turn_for_cookie(drive, kind, cookie);
        } else {
            wait_for_release(drive, kind, turns, PLAT_FOREVER);
        }
    }
}

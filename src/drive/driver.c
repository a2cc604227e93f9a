/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table of drivers, the making of their thread, and the part of a pass that all of them share.
 *
 * tested by: test/api/drivers.cc
 */
#include <pthread.h>

#include "drive/drive.h"

/* How long the driver ticks on when the last deadline thread has gone offline. */
#define ONLINE_TICKS 100

const struct drive_driver *drive_driver_of(int32_t driver)
{
    switch (driver) {
    case RTRCU_DRIVER_KTHREAD:
        return &drive_driver_kthread;
    case RTRCU_DRIVER_LTIMER:
        return &drive_driver_ltimer;
    case RTRCU_DRIVER_SCHED:
        return &drive_driver_sched;
    case RTRCU_DRIVER_POLL:
        return &drive_driver_poll;
    default:
        return NULL;
    }
}

void drive_leaf_init(struct drive_leaf *part, struct reader_leaf *leaf)
{
    reader_leaf_join(leaf, READER_DRIVE, part);
}

void drive_init(struct drive *drive, const struct config *config, struct gp *gp, struct callback *cb,
                struct watch *watch)
{
    drive->config = config;
    drive->registry = gp_registry(gp);
    drive->gp = gp;
    drive->cb = cb;
    drive->watch = watch;
    drive->driver = drive_driver_of(config_now(config)->driver);
    plat_home_init(&drive->process);
    drive->home = drive_home_on(drive, config_now(config)->cpus);
    if (!drive->home)
        drive->home = &drive->process;
    lock_init(&drive->barrier_lock, LOCK_RANK_BARRIER);
    lock_init(&drive->aside.lock, LOCK_RANK_DAEMON);
    drive->aside.drive = drive;
    drive->exp_told = SEQ_FIRST;
    drive_worker_init(drive, DRIVE_WORKER_EXPEDITED, drive_expedited_body);
    drive_worker_init(drive, DRIVE_WORKER_BOOST, drive_boost_body);
    drive_worker_init(drive, DRIVE_WORKER_NUDGE, drive_nudge_body);
    drive_worker_init(drive, DRIVE_WORKER_REPORT, drive_report_body);
    drive_worker_init(drive, DRIVE_WORKER_TELL, drive_tell_body);
    for (uint32_t cpu = 0; cpu < PLAT_CPU_MAX; cpu++) {
        lock_init(&drive->krcud[cpu].lock, LOCK_RANK_DAEMON);
        drive->krcud[cpu].cpu = cpu;
        drive->krcud[cpu].drive = drive;
    }
}

/* Where no daemon can be made the driver runs callbacks, and one has ended it.  Refused: the next call of each owner
 * tries again, also where its inbox was not empty, by its look at the limits.
 *  - an owner's look comes first, then our store has it look again;
 *  - our store comes first, then the owner, who fences between its look and this, finds that the driver is gone.
 * Forbidden: the owner has put its next look off AND believes that the driver runs. */
static void gone(void *argument)
{
    struct drive *drive = argument;
    drive_thread_ended(drive, &drive->thread);
    if (drive_start(drive) != 0)
        callback_look_again_all(drive->cb);
}

static void *run(void *drive)
{
    pthread_cleanup_push(gone, drive);
    drive_row(drive)->body(drive);
    pthread_cleanup_pop(0);
    return NULL;
}

int drive_start(struct drive *drive)
{
    struct drive_thread *thread = &drive->thread;
    int claimed = drive_thread_claim(drive, thread);
    if (claimed <= 0)
        return claimed;
    thread->plat =
        (struct plat_thread){.name = "rtrcu-gp", .body = drive_row(drive)->body ? run : NULL, .argument = drive};
    return drive_thread_make(drive, thread);
}

void drive_start_in_call(struct drive *drive)
{
    if (drive_thread_runs(&drive->thread))
        return;
    bool may = !reader_self_is(READER_STATE_DEADLINE);
    if (drive->survivor && drive->survivor == lock_thread_id())
        may = !plat_signals_added(&drive->survivor_blocks);
    if (may)
        (void)drive_start(drive);
}

void drive_note_flood(struct drive *drive)
{
    rtrcu_store_relaxed(&drive->flooded_ns, plat_clock_now());
}

bool drive_hold(struct drive *drive)
{
    return drive_thread_hold(&drive->thread);
}

void drive_change(struct drive *drive, const struct drive_driver *driver, const struct plat_home *home)
{
    rtrcu_store_release(&drive->driver, driver);
    rtrcu_store_release(&drive->home, home);
}

void drive_stats(const struct drive *drive, struct rtrcu_stats *stats)
{
    stats->gp_slept = rtrcu_load_relaxed(&drive->turning[GP_NORMAL].slept);
    stats->gp_by_caller = rtrcu_load_relaxed(&drive->turning[GP_NORMAL].by_caller);
    stats->driver_wakeups = rtrcu_load_relaxed(&drive->wakeups);
    stats->driver_passes = rtrcu_load_relaxed(&drive->passes);
    stats->rt_refused = rtrcu_load_relaxed(&drive->rt_refused);
    stats->boosts = rtrcu_load_relaxed(&drive->boosts);
    stats->boost_ns = rtrcu_load_relaxed(&drive->boost_ns);
    stats->boost_ns_max = rtrcu_load_relaxed(&drive->boost_ns_max);
    stats->boost_refused = rtrcu_load_relaxed(&drive->boost_refused);
    stats->boost_given_up = rtrcu_load_relaxed(&drive->boost_given_up);
    stats->krcud_given = rtrcu_load_relaxed(&drive->krcud_given);
    stats->fence_refused = rtrcu_load_relaxed(&drive->fence_refused);
}

void drive_changed(struct drive *drive)
{
    if (!drive_thread_let(&drive->thread))
        return;
    (void)drive_start(drive);
    drive_leave(drive); /* who brought something asked nobody, if the driver of before had a thread */
}

void drive_leave(struct drive *drive)
{
    const struct drive_driver *row = drive_row(drive);
    if (row->leave)
        row->leave(drive);
}

int drive_start_surely(struct drive *drive)
{
    struct drive_thread *thread = &drive->thread;
    int error = 0;
    rtrcu_store_relaxed(&drive->refused_ns, 0);
    while (!error && !drive_thread_runs(thread)) { /* ends when who is at it has made it or was refused */
        error = drive_start(drive);
        uint32_t state = rtrcu_load_acquire(&thread->state);
        if (!error && state != DRIVE_RUNNING)
            drive_sleep(drive, &thread->state, state, drive_tick_ns(drive));
    }
    return error;
}

bool drive_anything_new(struct drive *drive)
{
    if (rtrcu_load_acquire(&drive->urgent) || gp_is_needed(drive->gp, GP_NORMAL) || drive_expedited_is_left(drive))
        return true;
    return callback_anything_new(drive->cb);
}

bool drive_pass(struct drive *drive, const struct drive_manner *manner)
{
    rtrcu_fetch_add(&drive->passes, 1);
    rtrcu_exchange(&drive->urgent, 0);
    callback_collect(drive->cb);
    if (gp_is_needed(drive->gp, GP_NORMAL))
        drive_turn_if_needed(drive, GP_NORMAL, manner);
    drive_expedited_serve(drive);
    return drive_dispatch(drive);
}

/* For some ticks more, so that a loop that is offline while it waits for its next event need not wake us when it comes
 * back. */
static bool ticks_for_deadlines(struct drive *drive)
{
    int64_t rest_ns = ONLINE_TICKS * drive_tick_ns(drive);
    if (reader_deadline_is_online(drive->registry))
        drive->online_ns = plat_clock_now();
    else if (drive->online_ns && plat_clock_now() - drive->online_ns >= rest_ns)
        drive->online_ns = 0;
    return drive->online_ns != 0;
}

/* [O8] Driver half: the flag is stored, then we look for what is new. */
void drive_sleep_idle(struct drive *drive, uint32_t event, bool ready)
{
    int64_t timeout_ns = PLAT_FOREVER;
    rtrcu_exchange(&drive->sleeping, DRIVE_IDLE);
    if (ready || ticks_for_deadlines(drive)) {
        timeout_ns = drive_tick_ns(drive);
        rtrcu_store_relaxed(&drive->sleeping, DRIVE_TICKING);
    }
    if (!drive_anything_new(drive))
        drive_sleep(drive, &drive->event, event, timeout_ns);
    rtrcu_store_release(&drive->sleeping, DRIVE_AWAKE);
}

void drive_sleep_pacing(struct drive *drive, uint32_t event, int64_t timeout_ns)
{
    rtrcu_exchange(&drive->sleeping, DRIVE_PACING);
    if (!rtrcu_load_acquire(&drive->urgent))
        drive_sleep(drive, &drive->event, event, timeout_ns);
    rtrcu_store_release(&drive->sleeping, DRIVE_AWAKE);
}

/* Where its owner runs, whose caches may still hold what its callbacks touch. */
uint32_t drive_cpu_of(const struct drive *drive, const struct reader_record *record)
{
    uint32_t cpu = reader_cpu(record);
    return plat_cpus_pick(&rtrcu_load_acquire(&drive->home)->cpus, cpu == UINT32_MAX ? reader_slot(record) : cpu);
}

static bool dispatch_leaf(struct drive *drive, struct reader_leaf *leaf, int64_t now, struct drive_share *share)
{
    struct reader_record *give[READER_FANOUT];
    uint32_t cpu[READER_FANOUT], count = 0;
    const struct callback_policy *policy = callback_policy_of(config_now(drive->config)->policy);
    /* Who collects asks for a grace period behind the bit: who finds that asked for finds the bit. */
    if (callback_at_work(leaf) == 0)
        return false;
    reader_lock(leaf);
    struct reader_record *record;
    for (uint32_t left = callback_at_work(leaf); (record = reader_next(leaf, &left));) {
        if (callback_advance(drive->cb, record, now) != CALLBACK_DAEMON)
            continue;
        give[count] = record;
        cpu[count++] = drive_cpu_of(drive, record);
    }
    bool ready = callback_ready(leaf) != 0;
    reader_unlock(leaf);
    for (uint32_t i = 0; i < count; i++) {
        /* Where no daemon may be, or none can, the next pass tries again. */
        if (!drive_row(drive)->body || !drive_krcud_give(drive, give[i], cpu[i], policy->punts))
            drive_krcud_serve_here(drive, give[i], share);
    }
    return ready;
}

bool drive_dispatch_within(struct drive *drive, struct drive_share *share)
{
    bool ready = false;
    int64_t now = plat_clock_now();
    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_leaf(drive->registry, leaf));)
        ready |= dispatch_leaf(drive, leaf, now, share);
    return ready;
}

bool drive_dispatch(struct drive *drive)
{
    return drive_dispatch_within(drive, &(struct drive_share){.ns = PLAT_FOREVER});
}

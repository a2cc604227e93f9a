/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fork: invokers pause, queues are held across it, threads and cranks are forgotten in the child and made again when
 * first needed.
 *
 * tested by: test/api/fork.cc
 */
#include "drive/drive.h"

static bool has_daemon(const struct krcud *krcud)
{
    return rtrcu_load_acquire(&krcud->thread.state) != DRIVE_NONE;
}

/* From here on no invoker begins a batch, unless forks have held it off for too long, and those inside a callback stop
 * after it: a lock that it holds would never be released in the child.  The flag is raised before their locks are
 * taken, and they look at it under them. */
static void hold_off(struct drive *drive, int64_t wait_ns)
{
    int64_t now = plat_clock_now(), until = now + wait_ns;
    tally_raise(&drive->forking);

    for (; now < until; now = plat_clock_now()) {
        uint32_t event = rtrcu_load_acquire(&drive->fork_event);
        if (!drive_anybody_at_work(drive))
            return;
        drive_sleep(drive, &drive->fork_event, event, until - now);
    }

    if (wait_ns && drive_anybody_at_work(drive) && counter_add(&drive->fork_given_up, 1) == 0)
        plat_print("rtrcu: fork: a callback has not returned in time; the child neither waits for it nor runs it again"
                   " (said once)\n");
}

void drive_before_fork(struct drive *drive)
{
    bool may_wait = !reader_self_is(READER_STATE_DEADLINE | READER_STATE_CALLBACK);
    hold_off(drive, may_wait ? config_now(drive->config)->fork_wait_us * 1000 : 0);
    callback_before_fork(drive->cb); /* no thread moves callbacks between stages while the forker holds these locks */
}

void drive_after_fork_parent(struct drive *drive)
{
    callback_after_fork_parent(drive->cb);
    (void)tally_lower(&drive->forking);

    for (uint32_t cpu = 0; cpu < PLAT_CPU_MAX; cpu++) {
        if (has_daemon(&drive->krcud[cpu]))
            drive_thread_wake(&drive->krcud[cpu].thread); /* it read the count before it saw the flag */
    }
}

/* Program threads wait without a timeout for these locks and numbers alone.  The kernel goes on with such a wait after
 * the handler, and looks at the word first. */
void drive_end_waits(struct drive *drive)
{
    lock_reset(&drive->barrier_lock);
    for (int kind = 0; kind < GP_KINDS; kind++)
        lock_reset(gp_crank(drive->gp, kind));
    for (int i = 0; i < 4; i++)
        rtrcu_fetch_add(&drive->numbers.ended[i], 1);
}

/* No daemon of the child has a queue, and no thread boosts. */
static void forget_leaf(struct reader_leaf *leaf)
{
    struct reader_record *record;

    reader_lock(leaf);
    for (uint32_t left = READER_ALL_SLOTS; (record = reader_next(leaf, &left));) {
        *drive_slot(record) = (struct drive_slot){0};
        reader_let_go(record, READER_DRIVE);
    }
    reader_unlock(leaf);
}

/* A thread of ours that forked goes on in the child; the others are made again when they are needed. */
static void forget_threads(struct drive *drive, struct plat_tid old_thread_id)
{
    bool survives = false;

    for (uint32_t cpu = 0; cpu < PLAT_CPU_MAX; cpu++) {
        struct krcud *krcud = &drive->krcud[cpu];
        lock_reset(&krcud->lock);
        rtrcu_store_relaxed(&krcud->first, NULL);
        krcud->last = NULL;
        krcud->serving = 0;
        krcud->held_off_ns = 0;
        survives |= drive_thread_after_fork(&krcud->thread, old_thread_id);
    }

    for (int i = 0; i < DRIVE_WORKERS; i++)
        survives |= drive_worker_after_fork_child(&drive->worker[i], old_thread_id);

    survives |= drive_thread_after_fork(&drive->thread, old_thread_id);
    survives |= drive_thread_after_fork(&drive->end, old_thread_id);
    rtrcu_store_relaxed(&drive->threads, survives);
    rtrcu_store_relaxed(&drive->main_ended, 0);
}

void drive_after_fork_child(struct drive *drive, struct plat_tid old_thread_id)
{
    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_leaf(drive->registry, leaf));)
        forget_leaf(leaf);

    lock_reset(&drive->barrier_lock);
    lock_reset(&drive->aside.lock);
    forget_threads(drive, old_thread_id);
    for (int kind = 0; kind < GP_KINDS; kind++)
        drive_turning_after_fork_child(&drive->turning[kind]);
    drive_numbers_after_fork_child(drive);

    drive->boosting = (struct drive_boosting){0};
    drive->visit = (struct drive_visit){0};
    drive->urgent = 0;
    drive->refused_ns = 0;
    tally_reset(&drive->progress_waiters);
    drive->aside.serving = 0;
    drive->aside.held_off_ns = 0;
    tally_reset(&drive->forking);
    tally_reset(&drive->turn_waiters);

    drive->generation++;
    drive->survivor = lock_thread_id();
}

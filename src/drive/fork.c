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

/* One thread forks at a time, so that the next one, which could not have the locks yet, does not hold invokers off.  It
 * is waited for as the locks are: the forker waits for nothing but callbacks, not for long, before it has
 * them.  The count is read before the attempt: a release behind it counts, and the sleep does not begin or ends.
 * False: a handler interrupted the calling thread's own fork. */
static bool become_forker(struct drive *drive)
{
    for (;;) { /* ends when those who came before have forked */
        uint32_t event = rtrcu_load_acquire(&drive->fork_event), other = 0, me = lock_thread_number();
        if (rtrcu_compare_exchange(&drive->forker, &other, me)) {
            uint32_t now = lock_thread_number();
            if (now != me) /* as put_right() in base/lock.c */
                (void)rtrcu_compare_exchange(&drive->forker, &me, now);
            return true;
        }

        if (other == me)
            return false;
        drive_sleep(drive, &drive->fork_event, event, DRIVE_PATIENCE_NS);
    }
}

static void end_forker(struct drive *drive)
{
    if (rtrcu_load_relaxed(&drive->forker) != lock_thread_number())
        return;
    rtrcu_store_relaxed(&drive->forked_ns, plat_clock_now());
    rtrcu_exchange(&drive->forker, 0);
    rtrcu_fetch_add(&drive->fork_event, 1);
    plat_futex_wake(&drive->fork_event, INT32_MAX);
}

/* Threads that fork all the time would hold invokers off for ever: whom a fork has held off has a turn before the next
 * one, but no longer than a fork waits for a callback.  It may not come: its lock may be the caller's, or it is the
 * program's own thread, which looks no more. */
static void give_turns(struct drive *drive, int64_t wait_ns)
{
    int64_t until = rtrcu_load_relaxed(&drive->forked_ns) + wait_ns;

    for (int64_t now = plat_clock_now(); now < until; now = plat_clock_now()) {
        uint32_t event = rtrcu_load_acquire(&drive->fork_event);
        if (!drive_anybody_owed(drive, false))
            return;
        drive_sleep(drive, &drive->fork_event, event, until - now);
    }

    (void)drive_anybody_owed(drive, true);
}

/* The flag is raised before their locks are taken, and they look at it under them. */
static struct tally_ticket hold_off(struct drive *drive, int64_t wait_ns)
{
    int64_t now = plat_clock_now(), until = now + wait_ns;
    struct tally_ticket ticket = tally_raise(&drive->forking);

    for (; now < until; now = plat_clock_now()) {
        uint32_t event = rtrcu_load_acquire(&drive->fork_event);
        if (!drive_anybody_at_work(drive))
            return ticket;
        plat_futex_wait(&drive->fork_event, event, until - now);
    }

    if (wait_ns && drive_anybody_at_work(drive) && counter_add(&drive->fork_given_up, 1) == 0)
        plat_print("rtrcu: fork: a callback has not returned in time; the child neither waits for it nor runs it again"
                   " (said once)\n");

    return ticket;
}

/* From here on nobody begins a callback, and those who are inside one stop behind it: a lock that it holds would never
 * be released in the child.  And nobody moves callbacks, since the forker holds the locks of the queues, under which
 * no handler forks.  In the child of one that has forked before nobody counts as forking, so it begins again there. */
static void pause_and_lock(struct drive *drive)
{
    bool may_wait = !reader_self_is(READER_STATE_DEADLINE | READER_STATE_CALLBACK);
    int64_t wait_ns = may_wait ? config_now(drive->config)->fork_wait_us * 1000 : 0;

    if (may_wait && become_forker(drive))
        give_turns(drive, wait_ns);

    for (;;) { /* as often as a handler forks */
        struct tally_ticket ticket = hold_off(drive, wait_ns);
        callback_before_fork(drive->cb);

        if (tally_ticket_is(ticket, tally_ticket_now(&drive->forking)))
            return;
        callback_after_fork_parent(drive->cb);
    }
}

static void resume_invokers(struct drive *drive, struct tally_ticket ticket)
{
    (void)tally_lower(&drive->forking, ticket);

    for (uint32_t cpu = 0; cpu < PLAT_CPU_MAX; cpu++) {
        struct krcud *krcud = &drive->krcud[cpu];
        if (!has_daemon(krcud))
            continue;
        drive_thread_wake(&krcud->thread); /* the daemon read the count before it saw the flag */
    }

    end_forker(drive);
}

void drive_before_fork(struct drive *drive)
{
    /* A handler that interrupted the holder of such a lock finds what it guards torn. */
    if (lock_any_held(UINT32_MAX << LOCK_RANK_QUEUES))
        plat_die("rtrcu: thread %u: fork() in a signal handler that interrupted the library; use _Fork() there\n",
                 lock_thread_number());

    pause_and_lock(drive);
}

void drive_after_fork_parent(struct drive *drive)
{
    struct tally_ticket ticket = tally_ticket_now(&drive->forking); /* while the locks are held, it is the forker's */
    callback_after_fork_parent(drive->cb);
    resume_invokers(drive, ticket);
}

/* No daemon of the child has a queue, and nobody boosts. */
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
        krcud->owed = false;
        survives |= drive_thread_after_fork(&krcud->thread, old_thread_id);
    }

    for (int i = 0; i < DRIVE_WORKERS; i++)
        survives |= drive_worker_after_fork_child(&drive->worker[i], old_thread_id);

    survives |= drive_thread_after_fork(&drive->thread, old_thread_id);
    survives |= drive_thread_after_fork(&drive->end, old_thread_id);
    rtrcu_store_relaxed(&drive->threads, survives);
    rtrcu_store_relaxed(&drive->main_ended, 0);
}

void drive_after_fork_child(struct drive *drive, struct plat_tid old_thread_id, const sigset_t *blocked)
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
    tally_forget(&drive->progress_waiters);
    drive->aside.serving = 0;
    tally_forget(&drive->forking);
    drive->aside.owed = false;

    rtrcu_store_relaxed(&drive->forker, 0);
    drive->generation++;
    drive->survivor = lock_thread_id();
    drive->survivor_blocks = *blocked;
    drive->held_back = (struct counter){0};
    tally_forget(&drive->turn_waiters);
}

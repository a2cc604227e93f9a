/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fork handlers of the room: invokers pause, queues are locked across the fork, and the child forgets daemons and their
 * lists.
 *
 * tested by: test/api/fork.cc
 */
#include "serve/serve.h"

static bool is_invoking(struct serve_daemon *daemon)
{
    lock_acquire(&daemon->lock);
    bool serving = daemon->serving != 0;
    lock_release(&daemon->lock);
    return serving;
}

static bool has_thread(struct serve *serve, uint32_t cpu)
{
    return work_thread_exists(&serve->daemon[cpu].thread) || work_thread_exists(&serve->relief[cpu].thread);
}

bool serve_is_invoking(void *at)
{
    struct serve *serve = at;
    bool found = is_invoking(&serve->aside);
    for (uint32_t cpu = 0; cpu < PLAT_CPU_MAX && !found; cpu++)
        found = has_thread(serve, cpu) && is_invoking(&serve->daemon[cpu]);
    return found;
}

/* Pause all invokers, and wait for those inside callbacks, at most @wait_ns.  No invoker begins a batch from here on,
 * unless forks have held off that invoker for too long.  An invoker inside a callback stops after that callback: the
 * child could never release a lock that the callback holds.  The pause is counted before the invokers' locks are taken,
 * and an invoker checks the count with its lock held. */
static void hold_off(struct serve *serve, int64_t wait_ns)
{
    work_pause_begin(&serve->fork.pause);
    if (work_pause_wait(serve->work, &serve->fork.pause, plat_clock_now() + wait_ns, serve_is_invoking, serve))
        return;

    if (wait_ns && serve_is_invoking(serve) && counter_add(&serve->fork.given_up, 1) == 0)
        plat_print("rtrcu: fork: a callback has not returned in time; the child neither waits for it nor runs it again;"
                   " raise fork_wait_us if callbacks take longer (printed once)\n");
}

void serve_before_fork(struct serve *serve)
{
    bool may_wait = !reader_self_is(READER_STATE_DEADLINE | READER_STATE_CALLBACK);
    hold_off(serve, may_wait ? config_now(serve->config)->fork_wait_us * 1000 : 0);
    /* Takes the queues locks, so no other thread moves callbacks between stages. */
    callback_before_fork(serve->cb);
}

void serve_after_fork_parent(struct serve *serve)
{
    callback_after_fork_parent(serve->cb);
    work_pause_end(&serve->fork.pause);

    for (uint32_t cpu = 0; cpu < PLAT_CPU_MAX; cpu++) { /* wake the daemons that the pause stopped */
        if (work_thread_exists(&serve->daemon[cpu].thread))
            work_thread_wake(&serve->daemon[cpu].thread);
        if (work_thread_exists(&serve->relief[cpu].thread))
            work_thread_wake(&serve->relief[cpu].thread);
    }
}

/* Reset the slots of a leaf: no daemon of the child has a queue. */
static void forget_leaf(struct reader_leaf *leaf)
{
    struct reader_record *record;

    reader_lock(leaf);
    for (uint32_t left = READER_ALL_SLOTS; (record = reader_next(leaf, &left));) {
        serve_slot(record)->next_ready = NULL;
        rtrcu_store_relaxed(&serve_slot(record)->listed, 0);
        serve_ready_after_fork(record);
        reader_release_slot(record, READER_SERVE);
    }
    reader_unlock(leaf);
}

/* Reset all daemons.  A daemon that forked continues in the child; other daemons are created again when needed. */
static void forget_daemons(struct serve *serve, struct plat_tid old_thread_id)
{
    for (uint32_t cpu = 0; cpu < PLAT_CPU_MAX; cpu++) {
        struct serve_daemon *daemon = &serve->daemon[cpu];
        lock_reset(&daemon->lock);
        rtrcu_store_relaxed(&daemon->first, NULL);
        daemon->last = NULL;
        daemon->serving = 0;
        daemon->held_off_ns = 0;
        (void)work_thread_after_fork(serve->work, &daemon->thread, old_thread_id);
        if (work_thread_exists(&serve->relief[cpu].thread))
            (void)work_thread_after_fork(serve->work, &serve->relief[cpu].thread, old_thread_id);
    }
}

void serve_after_fork_child(struct serve *serve, struct plat_tid old_thread_id)
{
    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_leaf(serve->registry, leaf));)
        forget_leaf(leaf);
    forget_daemons(serve, old_thread_id);

    lock_reset(&serve->barrier_lock);
    lock_reset(&serve->aside.lock);
    serve->aside.serving = 0;
    serve->aside.held_off_ns = 0;
    tally_reset(&serve->progress_waiters);
    work_pause_reset(&serve->fork.pause);
    serve->fork.generation++;
}

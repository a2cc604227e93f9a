/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fork handlers of the flavours: servers pause between callbacks, and short locks are held across the fork.  In the
 * child the forking thread is the only reader, and servers' threads are created again when needed.
 *
 * tested by: test/dropin/forking.c
 */
#include "urcu/urcu.h"

static struct rtrcu_adopted *first(struct urcu *all)
{
    return rtrcu_load_acquire(&all->first);
}

/* Is a server inside a batch, other than the calling thread's own server? */
static bool others_serve(void *flavour)
{
    struct rtrcu_adopted *adopted = flavour;
    bool found = false;

    lock_acquire(&adopted->servers_lock);
    for (struct adopt_server *server = adopted->servers; server; server = server->next)
        found |=
            rtrcu_load_acquire(&server->serving) && !plat_tid_is(plat_thread_tid(&server->thread), lock_thread_id());
    lock_release(&adopted->servers_lock);

    return found;
}

void urcu_pause(struct urcu *all)
{
    int64_t until = plat_clock_now() + config_now(all->config)->fork_wait_us * 1000;

    work_pause_begin(&all->pause);
    for (struct rtrcu_adopted *adopted = first(all); adopted; adopted = adopted->next)
        (void)work_pause_wait(all->work, &all->pause, until, others_serve, adopted);
}

/* Ends the pause of the servers, if there is one: a program may call call_rcu_after_fork_parent() without
 * call_rcu_before_fork(). */
void urcu_resume(struct urcu *all)
{
    work_pause_end(&all->pause);
}

void urcu_before_fork(struct urcu *all)
{
    for (struct rtrcu_adopted *adopted = first(all); adopted; adopted = adopted->next)
        lock_acquire_same_rank(&adopted->servers_lock);
    for (struct rtrcu_adopted *adopted = first(all); adopted; adopted = adopted->next)
        lock_acquire_same_rank(&adopted->words_lock);
}

/* Release the locks in reverse order of acquisition. */
static void release_from(struct rtrcu_adopted *adopted, bool words)
{
    if (!adopted)
        return;
    release_from(adopted->next, words);
    lock_release(words ? &adopted->words_lock : &adopted->servers_lock);
}

void urcu_after_fork_parent(struct urcu *all)
{
    release_from(first(all), true);
    release_from(first(all), false);
}

/* Release the records of threads that the child does not have. */
static void forget_readers(struct rtrcu_adopted *adopted)
{
    const struct rtrcu_adopted_reader *self = urcu_self(adopted);
    struct urcu_chunk *chunk = NULL;
    struct adopt_record *record;

    for (uint32_t at; (record = urcu_next_record(adopted, &chunk, &at));) {
        record->is_holdout = false;
        if (self && self->record == record) {
            rtrcu_store_relaxed(&record->thread_id, lock_thread_number());
            continue;
        }

        if (chunk->own && rtrcu_load_relaxed(&record->used))
            chunk->own[at] = (struct rtrcu_adopted_reader){0};
        rtrcu_store_relaxed(&record->reader, NULL);
        rtrcu_store_relaxed(&record->used, 0);
    }

    adopted->holdouts = 0;
}

/* Called by the server's own thread, perhaps in a signal handler: is that thread inside a callback?  False between two
 * callbacks, and while the next callback is still in the batch. */
static bool is_in_callback(const struct adopt_server *server)
{
    return rtrcu_load_relaxed(&server->started) != rtrcu_load_relaxed(&server->invoked) &&
           rtrcu_load_relaxed(&server->running) != cbchain_first(&server->batch);
}

/* Reset one server.  If its own thread forked in a callback, the child's thread continues as the server.  If that
 * thread had ended its service and forked in a destructor, the server has no thread in the child. */
static void forget_thread(struct rtrcu_adopted *adopted, struct adopt_server *server, struct plat_tid old_thread_id)
{
    bool survives = !plat_tid_is_nobody(old_thread_id) &&
                    plat_tid_is(plat_thread_tid(&server->thread), old_thread_id) && !rtrcu_load_relaxed(&server->ended);

    plat_thread_renumber(&server->thread, survives ? lock_thread_id() : PLAT_NOBODY);
    rtrcu_store_relaxed(&server->thread_id, survives ? lock_thread_number() : 0);
    rtrcu_store_relaxed(&server->state, survives ? WORK_RUNNING : WORK_NONE);

    if (!survives) {
        rtrcu_store_relaxed(&server->serving, 0);
        rtrcu_store_relaxed(&server->started, rtrcu_load_relaxed(&server->invoked));
    }
    rtrcu_store_relaxed(&server->sleeping, URCU_AWAKE);
    rtrcu_store_relaxed(&server->event, 0);
    rtrcu_store_relaxed(&server->urgent, 0);
    rtrcu_store_relaxed(&server->ended, 0);
    rtrcu_store_relaxed(&server->stop, 0); /* a thread that was freeing the server does not exist here */
    server->held_off_ns = 0;
    server->joined_by_program = false;
    (void)cbqueue_repair(&server->queue);
    cbchain_repair(&server->batch);
    /* The callbacks left in the batch, and the running callback, if it called fork(). */
    uint64_t left = cbchain_count(&server->batch) + (survives && is_in_callback(server));
    adopted->lost_at_fork += cbqueue_recount_after_fork(&server->queue, rtrcu_load_relaxed(&server->invoked), left);
}

static void begin_anew(struct rtrcu_adopted *adopted, struct plat_tid old_thread_id)
{
    lock_reset(&adopted->gp_lock);
    lock_reset(&adopted->words_lock);
    lock_reset(&adopted->servers_lock);

    /* Undo the begin of the grace period in progress, if any: its cookie has not been reached. */
    rtrcu_fetch_and(&adopted->seq, ~SEQ_STATE_MASK);
    tally_reset(&adopted->waiters);
    tally_reset(&adopted->barriers);
    rtrcu_store_relaxed(adopted->flavour.futex, 0);

    forget_readers(adopted);
    urcu_rings_after_fork_child(adopted, old_thread_id);
    urcu_servers_recount(adopted);
    for (struct adopt_server *server = adopted->servers; server; server = server->next)
        forget_thread(adopted, server, old_thread_id);
    bool light = adopted->flavour.light && rtrcu_load_relaxed(adopted->flavour.light);
    if (light && plat_fence_prepare() != 0)
        rtrcu_store_relaxed(adopted->flavour.light, 0); /* needs no fence: the child has only this thread */
}

void urcu_after_fork_child(struct urcu *all, struct plat_tid old_thread_id)
{
    work_pause_reset(&all->pause);
    for (struct rtrcu_adopted *adopted = first(all); adopted; adopted = adopted->next)
        begin_anew(adopted, old_thread_id);
}

/* ---- calls of the program ---- */

static struct rtrcu_fork_hooks *hooks_of(struct rtrcu_adopted *adopted)
{
    lock_acquire(&adopted->servers_lock);
    struct rtrcu_fork_hooks *hooks = adopted->hooks;
    lock_release(&adopted->servers_lock);
    return hooks;
}

static void run_hook(void (*hook)(void *priv), void *priv)
{
    CALL_PROGRAM();
    hook(priv);
}

void urcu_fork_begins(struct rtrcu_adopted *adopted)
{
    urcu_pause(adopted->all);
    const struct rtrcu_fork_hooks *hooks = hooks_of(adopted);
    if (hooks)
        run_hook(hooks->before_fork, hooks->priv);
}

/* Runs the program's hook, then resumes the servers.  In the child, urcu_after_fork_child() has resumed them already,
 * and only their threads must be created. */
void urcu_fork_ends(struct rtrcu_adopted *adopted, bool child)
{
    const struct rtrcu_fork_hooks *hooks = hooks_of(adopted);

    if (hooks && child)
        run_hook(hooks->after_fork_child, hooks->priv);
    else if (hooks)
        run_hook(hooks->after_fork_parent, hooks->priv);

    if (!child) {
        urcu_resume(adopted->all);
        return;
    }

    for (struct adopt_server *server = adopted->servers; server; server = server->next)
        (void)urcu_server_start(server);
}

/* Adds or removes the program's hooks.  There is one set, for all hash tables; further registrations of the same set
 * are counted. */
void urcu_hooks(struct rtrcu_adopted *adopted, struct rtrcu_fork_hooks *hooks, bool add)
{
    lock_acquire(&adopted->servers_lock);
    if (add && adopted->hooks_count++ == 0)
        adopted->hooks = hooks;
    if (!add && adopted->hooks_count > 0 && --adopted->hooks_count == 0)
        adopted->hooks = NULL;
    lock_release(&adopted->servers_lock);
}

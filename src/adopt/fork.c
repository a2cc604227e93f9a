/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fork: servers pause between callbacks, short locks are held across it; in the child its one thread is the only
 * reader, and servers' threads are made again when they are needed.
 *
 * tested by: test/dropin/forking.c
 */
#include "adopt/adopt.h"

/* A thread that forks looks so often whether the servers that are owed a turn have had it. */
#define TURN_NAP_NS 100000

static struct rtrcu_adopted *first(struct adopt *all)
{
    return rtrcu_load_acquire(&all->first);
}

/* Is it so of a server whose thread is another than the calling one? */
static bool is_any(struct rtrcu_adopted *adopted, bool (*is)(const struct adopt_server *))
{
    bool found = false;

    lock_acquire(&adopted->servers_lock);
    for (struct adopt_server *server = adopted->servers; server; server = server->next)
        found |= is(server) && !plat_tid_is(plat_thread_tid(&server->thread), lock_thread_id());
    lock_release(&adopted->servers_lock);

    return found;
}

/* A callback is under way, or what is queued is being gathered. */
static bool serves(const struct adopt_server *server)
{
    return rtrcu_load_acquire(&server->serving);
}

/* A fork has held it off, and it has had no turn since. */
static bool is_owed(const struct adopt_server *server)
{
    return rtrcu_load_relaxed(&server->owed) && !rtrcu_load_acquire(&server->ended);
}

static void forget_owed(struct rtrcu_adopted *adopted)
{
    lock_acquire(&adopted->servers_lock);
    for (struct adopt_server *server = adopted->servers; server; server = server->next)
        rtrcu_store_relaxed(&server->owed, 0);
    lock_release(&adopted->servers_lock);
}

/* Threads that fork all the time would hold servers off for ever, as give_turns() of drive/fork.c has it.  One that
 * does not come in time, whose lock may be the caller's, is not waited for again. */
static void give_turns(struct rtrcu_adopted *adopted, int64_t wait_ns)
{
    int64_t now = plat_clock_now(), until = now + wait_ns;

    for (; now < until && is_any(adopted, is_owed); now = plat_clock_now())
        adopt_rest(adopted, &adopted->nap, 0, TURN_NAP_NS);
    if (now >= until)
        forget_owed(adopted);
}

struct tally_ticket adopt_pause(struct adopt *all)
{
    for (struct rtrcu_adopted *adopted = first(all); adopted; adopted = adopted->next)
        give_turns(adopted, config_now(all->config)->fork_wait_us * 1000);

    struct tally_ticket paused = tally_raise(&all->forking);
    int64_t until = plat_clock_now() + config_now(all->config)->fork_wait_us * 1000;

    for (struct rtrcu_adopted *adopted = first(all); adopted; adopted = adopted->next) {
        for (int64_t now = plat_clock_now(); now < until; now = plat_clock_now()) {
            uint32_t event = rtrcu_load_acquire(&all->fork_event);
            if (!is_any(adopted, serves))
                break;
            adopt_rest(adopted, &all->fork_event, event, until - now);
        }
    }

    return paused;
}

void adopt_resume(struct adopt *all, struct tally_ticket paused)
{
    (void)tally_lower(&all->forking, paused);
    rtrcu_fetch_add(&all->fork_event, 1);
    plat_futex_wake(&all->fork_event, INT32_MAX);
}

/* In the child of a handler that has forked since the pause there are no servers yet, and nobody counts as forking.
 * From here on no handler forks: drive_before_fork() has taken locks. */
void adopt_before_fork(struct adopt *all, struct tally_ticket paused)
{
    if (!tally_ticket_is(paused, adopt_paused(all)))
        (void)tally_raise(&all->forking);

    for (struct rtrcu_adopted *adopted = first(all); adopted; adopted = adopted->next)
        lock_acquire_same_rank(&adopted->servers_lock);
    for (struct rtrcu_adopted *adopted = first(all); adopted; adopted = adopted->next)
        lock_acquire_same_rank(&adopted->words_lock);
}

/* The one that was taken first is released last. */
static void release_from(struct rtrcu_adopted *adopted, bool words)
{
    if (!adopted)
        return;
    release_from(adopted->next, words);
    lock_release(words ? &adopted->words_lock : &adopted->servers_lock);
}

void adopt_after_fork_parent(struct adopt *all)
{
    release_from(first(all), true);
    release_from(first(all), false);
}

/* Whose thread is not there is no reader. */
static void forget_readers(struct rtrcu_adopted *adopted)
{
    const struct rtrcu_adopted_reader *self = adopt_self(adopted);
    struct adopt_chunk *chunk = NULL;
    struct adopt_record *record;

    for (uint32_t at; (record = adopt_next_record(adopted, &chunk, &at));) {
        record->owes = false;
        if (self && self->record == record) {
            rtrcu_store_relaxed(&record->thread_id, lock_thread_number());
            continue;
        }

        if (chunk->own && rtrcu_load_relaxed(&record->used))
            chunk->own[at] = (struct rtrcu_adopted_reader){0};
        rtrcu_store_relaxed(&record->reader, NULL);
        rtrcu_store_relaxed(&record->used, 0);
    }

    adopted->owing = 0;
}

/* By its own thread.  Not in a handler that came between two callbacks, or before one was taken out of the batch. */
static bool is_in_callback(const struct adopt_server *server)
{
    return rtrcu_load_relaxed(&server->started) != rtrcu_load_relaxed(&server->invoked) &&
           rtrcu_load_relaxed(&server->running) != cbchain_first(&server->batch);
}

/* The forking thread may be a server's own, in a callback: it goes on as one.  Not if it has ended as such and forks in
 * a destructor. */
static void forget_thread(struct rtrcu_adopted *adopted, struct adopt_server *server, struct plat_tid old_thread_id)
{
    bool survives = !plat_tid_is_nobody(old_thread_id) &&
                    plat_tid_is(plat_thread_tid(&server->thread), old_thread_id) && !rtrcu_load_relaxed(&server->ended);

    plat_thread_renumber(&server->thread, survives ? lock_thread_id() : PLAT_NOBODY);
    rtrcu_store_relaxed(&server->state, survives ? DRIVE_RUNNING : DRIVE_NONE);

    if (!survives) {
        rtrcu_store_relaxed(&server->serving, 0);
        rtrcu_store_relaxed(&server->started, rtrcu_load_relaxed(&server->invoked));
    }
    rtrcu_store_relaxed(&server->sleeping, ADOPT_AWAKE);
    rtrcu_store_relaxed(&server->event, 0);
    rtrcu_store_relaxed(&server->urgent, 0);
    rtrcu_store_relaxed(&server->ended, 0);
    rtrcu_store_relaxed(&server->owed, 0);
    rtrcu_store_relaxed(&server->stop, 0); /* who was freeing it is not here, or says so again */
    server->joined_by_program = false;
    /* A handler forks, behind which the calling thread finishes its link. */
    if (rtrcu_load_relaxed(&rtrcu_self.pushing) == adopt_server_mark(server))
        return;
    (void)cbqueue_repair(&server->queue);
    cbchain_repair(&server->batch);
    /* What is left, and the callback in which the calling thread forks. */
    uint64_t left = cbchain_count(&server->batch) + (survives && is_in_callback(server));
    adopted->lost_at_fork += cbqueue_recount_after_fork(&server->queue, rtrcu_load_relaxed(&server->invoked), left);
}

static void begin_anew(struct rtrcu_adopted *adopted, struct plat_tid old_thread_id)
{
    lock_keep(&adopted->crank, old_thread_id);
    lock_reset(&adopted->words_lock);
    lock_reset(&adopted->servers_lock);

    /* The grace period under way begins again: its cookie is still ahead. */
    rtrcu_fetch_and(&adopted->seq, ~SEQ_STATE_MASK);
    tally_forget(&adopted->waiters);
    rtrcu_store_relaxed(adopted->flavour.futex, 0);

    forget_readers(adopted);
    adopt_servers_recount(adopted);
    for (struct adopt_server *server = adopted->servers; server; server = server->next)
        forget_thread(adopted, server, old_thread_id);
    bool light = adopted->flavour.light && rtrcu_load_relaxed(adopted->flavour.light);
    if (light && plat_fence_prepare() != 0)
        rtrcu_store_relaxed(adopted->flavour.light, 0); /* the child's only thread sees it */
}

void adopt_after_fork_child(struct adopt *all, struct plat_tid old_thread_id)
{
    tally_forget(&all->forking);
    for (struct rtrcu_adopted *adopted = first(all); adopted; adopted = adopted->next)
        begin_anew(adopted, old_thread_id);
}

/* ---- the program's own calls ---- */

static struct rtrcu_fork_hooks *hooks_of(struct rtrcu_adopted *adopted)
{
    lock_acquire(&adopted->servers_lock);
    struct rtrcu_fork_hooks *hooks = adopted->hooks;
    lock_release(&adopted->servers_lock);
    return hooks;
}

void adopt_fork_begins(struct rtrcu_adopted *adopted)
{
    adopted->paused = adopt_pause(adopted->all);
    const struct rtrcu_fork_hooks *hooks = hooks_of(adopted);
    if (hooks)
        hooks->before_fork(hooks->priv);
}

/* In the child pthread_atfork() has resumed the servers already, and those whose callbacks wait have no thread yet. */
void adopt_fork_ends(struct rtrcu_adopted *adopted, bool child)
{
    const struct rtrcu_fork_hooks *hooks = hooks_of(adopted);

    if (hooks && child)
        hooks->after_fork_child(hooks->priv);
    else if (hooks)
        hooks->after_fork_parent(hooks->priv);

    if (!child) {
        adopt_resume(adopted->all, adopted->paused);
        return;
    }

    for (struct adopt_server *server = adopted->servers; server; server = server->next)
        (void)adopt_server_start(server);
}

/* One pair for all hash tables: a copy that registers it again is counted. */
void adopt_hooks(struct rtrcu_adopted *adopted, struct rtrcu_fork_hooks *hooks, bool add)
{
    lock_acquire(&adopted->servers_lock);
    if (add && adopted->hooks_count++ == 0)
        adopted->hooks = hooks;
    if (!add && adopted->hooks_count > 0 && --adopted->hooks_count == 0)
        adopted->hooks = NULL;
    lock_release(&adopted->servers_lock);
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A server of callbacks: one thread, which runs the callbacks queued to it in order, each batch after a grace period.
 *
 * Its thread is a reader of the flavour, since callbacks have the flavour's read side compiled in; in the
 * quiescent-state discipline it is online while it runs them.
 * tested by: test/dropin/servers.c
 */
#include "urcu/urcu.h"

/* liburcu's URCU_CALL_RCU_RT. */
#define FLAG_REAL_TIME 1u
/* Polling interval of a server that no thread wakes. */
#define UNWOKEN_NS 10000000
/* Callbacks between two checks for forks; in the quiescent-state discipline, between two quiescent states. */
#define BATCH 64
/* Number of times that the server reads a link whose producer has not finished it, before the server sleeps. */
#define LINK_LOOKS 64
#define LINK_NAP_NS 50000
/* The limits are checked when a server's number of queued callbacks is a multiple of this. */
#define CHECK_EVERY 64

static void wake(struct adopt_server *server)
{
    rtrcu_fetch_add(&server->event, 1);
    plat_futex_wake(&server->event, 1);
}

/* ---- its thread ---- */

static bool has_backlog(const struct adopt_server *server, int64_t limit)
{
    return cbqueue_enqueued(&server->queue) - rtrcu_load_relaxed(&server->invoked) >= (uint64_t)limit;
}

static bool is_flooded(const struct adopt_server *server)
{
    return has_backlog(server, config_now(server->adopted->all->config)->qhimark);
}

static bool is_full(const struct adopt_server *server)
{
    return has_backlog(server, config_now(server->adopted->all->config)->qmax);
}

/* Yield the CPU to a producer that has not finished its link yet. */
static void let_it_finish(const struct adopt_server *server, uint32_t looks)
{
    if (looks < LINK_LOOKS)
        rtrcu_cpu_relax();
    else
        urcu_sleep_on(server->adopted, &server->adopted->nap, 0, LINK_NAP_NS);
}

/* Move the inbox to the batch; the caller keeps threads from forking meanwhile.  False: the inbox is empty, or a
 * producer has not finished the first link. */
static bool take(struct adopt_server *server)
{
    struct cb_chain chain = cbqueue_take_inbox(&server->queue);
    cbqueue_join(&server->batch, chain);
    if (cbchain_is_empty(&chain))
        return false;

    /* A producer may store its time after this: then the time counts for the next batch. */
    int64_t oldest_ns = rtrcu_exchange(&server->inbox_ns, 0);
    if (!rtrcu_load_relaxed(&server->batch_ns))
        rtrcu_store_relaxed(&server->batch_ns, oldest_ns ? oldest_ns : plat_clock_now());
    return true;
}

static bool is_polled_for(const struct adopt_server *server)
{
    const struct rtrcu_adopted *adopted = server->adopted;
    return server == &adopted->ordinary && !urcu_reached(adopted, rtrcu_load_acquire(&adopted->wanted));
}

static bool has_deferred(const struct adopt_server *server)
{
    return server == &server->adopted->ordinary && urcu_defer_waits(server->adopted);
}

static bool has_work(const struct adopt_server *server)
{
    return !cbqueue_inbox_is_empty(&server->queue) || has_deferred(server) || is_polled_for(server) ||
           rtrcu_load_acquire(&server->stop);
}

/* Sleep until the server has work.  [O8] The server's half, as driver_sleep_until_new(); a thread that queues has
 * exchanged the inbox's tail, then reads the flag. */
static void sleep_idle(struct adopt_server *server, uint32_t event)
{
    rtrcu_exchange(&server->sleeping, URCU_ASLEEP);
    if (!has_work(server))
        urcu_sleep_on(server->adopted, &server->event, event, server->real_time ? UNWOKEN_NS : PLAT_FOREVER);
    rtrcu_store_release(&server->sleeping, URCU_AWAKE);
}

/* Batch callbacks for up to one tick, unless a thread waits for them or there are many. */
static void pace(struct adopt_server *server, uint32_t event)
{
    if (is_flooded(server) || rtrcu_load_acquire(&server->stop))
        return;

    rtrcu_exchange(&server->sleeping, URCU_PACING);
    if (!rtrcu_load_acquire(&server->urgent))
        urcu_sleep_on(server->adopted, &server->event, event, urcu_tick_ns(server->adopted));
    rtrcu_store_release(&server->sleeping, URCU_AWAKE);
}

static void end_batch(struct adopt_server *server)
{
    rtrcu_exchange(&server->serving, 0);
    work_pause_tell(&server->adopted->all->pause);
}

static bool is_allowed(struct adopt_server *server, bool *anyway)
{
    const struct urcu *all = server->adopted->all;
    return work_pause_allows(&all->pause, all->config, &server->held_off_ns, anyway);
}

/* May a batch begin?  *@anyway becomes true if it may begin although a thread is forking.  False, after a short sleep:
 * a fork's prepare handler waits until no callback is running.  If a forking thread saw `serving` set meanwhile,
 * end_batch() notifies that thread. */
static bool begin_batch(struct adopt_server *server, bool *anyway)
{
    struct urcu *all = server->adopted->all;
    uint32_t event = work_pause_event(&all->pause);

    if (is_allowed(server, anyway)) {
        rtrcu_exchange(&server->serving, 1);
        if (is_allowed(server, anyway)) {
            server->held_off_ns = 0;
            return true;
        }
        end_batch(server);
    }

    work_pause_rest(all->work, &all->pause, event, UNWOKEN_NS);
    return false;
}

/* Move the inbox to the batch under the lock, which a forking thread holds: otherwise its child would lose the
 * callbacks being moved. */
static void gather(struct adopt_server *server)
{
    for (uint32_t looks = 0; !cbqueue_inbox_is_empty(&server->queue);
         looks++) { /* ends when the producer of the open link continues */
        lock_acquire(&server->adopted->servers_lock);
        bool taken = take(server);
        lock_release(&server->adopted->servers_lock);
        if (taken)
            return;
        let_it_finish(server, looks);
    }
}

/* The next callback.  NULL: the batch is empty, or a thread is @forking, perhaps the producer of an unfinished link, in
 * a handler. */
static struct rcu_head *next_of(struct adopt_server *server, const struct tally *forking)
{
    for (uint32_t looks = 0; !cbchain_is_empty(&server->batch);
         looks++) { /* ends when the producer of the open link continues */
        rtrcu_store_relaxed(&server->running, cbchain_first(&server->batch));
        rtrcu_store_release(&server->started, rtrcu_load_relaxed(&server->invoked) + 1);
        rtrcu_fence_light(); /* so is_in_callback(), in a handler that forks, finds the callback in the
                                batch or started */
        struct rcu_head *head = cbqueue_pop(&server->batch);
        if (head || (forking && tally_read(forking)))
            return head;
        let_it_finish(server, looks);
    }
    return NULL;
}

/* Raise this thread above ordinary ones while the backlog is at qmax, as far as permitted. */
static void lift(struct adopt_server *server)
{
    if (work_backlog_lift(is_full(server), &server->lifted, work_attr(server->adopted->all->work)->nice))
        rtrcu_fetch_add(&server->adopted->lifts, 1);
}

static void run(struct rcu_head *head)
{
    CALL_PROGRAM();
    head->func(head);
}

/* One kind of work of a server: callbacks, or deferred functions. */
struct errand {
    bool (*is_left)(struct adopt_server *server);
    bool (*run_one)(struct adopt_server *server); /* false: no work is left, or a thread is forking */
};

static bool callback_is_left(struct adopt_server *server)
{
    return !cbchain_is_empty(&server->batch);
}

static bool run_callback(struct adopt_server *server)
{
    struct rcu_head *head = next_of(server, work_pause_forking(&server->adopted->all->pause));
    if (!head)
        return false;
    invariant("INV-AD3", plat_tid_is(plat_thread_tid(&server->thread), lock_thread_id()));
    rtrcu_store_relaxed(&server->function, (uintptr_t)head->func);
    run(head);
    rtrcu_count_add(&server->invoked, 1);
    return true;
}

static bool deferred_is_left(struct adopt_server *server)
{
    return urcu_drain_has(server->adopted);
}

static bool run_deferred(struct adopt_server *server)
{
    return urcu_drain_one(server->adopted);
}

static const struct errand callbacks = {callback_is_left, run_callback}, deferred = {deferred_is_left, run_deferred};

static void run_some(struct adopt_server *server, const struct errand *errand, bool anyway)
{
    const struct tally *forking = work_pause_forking(&server->adopted->all->pause);
    uint64_t count = 0;
    while (count < BATCH && (anyway || !tally_read(forking)) && errand->run_one(server))
        count++;
}

static void run_all(struct adopt_server *server, const struct errand *errand)
{
    struct rtrcu_adopted *adopted = server->adopted;
    bool qsbr = adopted->flavour.kind == RTRCU_ADOPT_QSBR;

    while (errand->is_left(server)) {
        bool anyway;
        if (!begin_batch(server, &anyway))
            continue;

        lift(server);
        if (qsbr)
            urcu_online(adopted);
        run_some(server, errand, anyway);
        if (qsbr)
            urcu_offline(adopted);

        end_batch(server);
    }
}

/* Serve what is queued once, or sleep.  False: the thread must end, even if callbacks are queued: they may queue
 * themselves again for ever. */
static bool serve(struct adopt_server *server)
{
    uint32_t event = rtrcu_load_acquire(&server->event);

    if (rtrcu_load_acquire(&server->stop))
        return false;

    gather(server);

    if (cbchain_is_empty(&server->batch) && !has_deferred(server)) {
        if (is_polled_for(server))
            urcu_wait(server->adopted, rtrcu_load_acquire(&server->adopted->wanted));
        else
            sleep_idle(server, event);
        return true;
    }

    pace(server, event);
    rtrcu_exchange(&server->urgent, 0);

    /* Callbacks that arrived during the pause share the grace period. */
    gather(server);

    bool drains = has_deferred(server) && urcu_drain_begin(server->adopted);
    urcu_wait(server->adopted, urcu_snap(server->adopted));
    if (drains) {
        run_all(server, &deferred);
        (void)urcu_drain_release(server->adopted); /* the next serve() checks for further deferred functions */
    }
    run_all(server, &callbacks);
    rtrcu_store_relaxed(&server->batch_ns, 0);
    return true;
}

static void *server_body(void *argument)
{
    struct adopt_server *server = argument;
    struct rtrcu_adopted *adopted = server->adopted;

    reader_self_set(READER_STATE_OURS);
    rtrcu_store_relaxed(&server->thread_id, lock_thread_number());
    call_begin(); /* a child that a signal handler forks from here on is torn, and must end */
    if (server->cpu >= 0)
        (void)plat_cpu_bind(server->cpu);

    while (!urcu_register(adopted)) /* ends when there is memory for a record */
        urcu_sleep_on(adopted, &adopted->nap, 0, UNWOKEN_NS);

    urcu_self(adopted)->server = server;
    urcu_self(adopted)->in_callbacks = 1;
    server->lifted = false;

    if (adopted->flavour.kind == RTRCU_ADOPT_QSBR)
        urcu_offline(adopted);

    while (serve(server)) /* ends when the server is freed */
        ;

    call_end();
    /* From here on the thread does not act as a server: its destructors may queue callbacks, wait for them, and
     * fork. */
    struct rtrcu_adopted_reader *self = urcu_self(adopted);
    if (self) { /* NULL for bp if a callback has unregistered the thread */
        self->server = NULL;
        self->in_callbacks = 0;
    }
    urcu_unregister(adopted);
    rtrcu_exchange(&server->ended, 1);
    plat_futex_wake(&server->ended,
                    INT32_MAX); /* the server may have been freed by now: then no thread waits at this address */
    return NULL;
}

/* ---- threads that queue ---- */

/* Create the server's thread, if it has none.  False: no thread can be created. */
static bool make_thread(struct adopt_server *server)
{
    uint32_t none = WORK_NONE;
    if (!rtrcu_compare_exchange(&server->state, &none, WORK_STARTING))
        return true;
    if (rtrcu_load_acquire(&server->stop)) { /* the thread that frees the server moves its callbacks to the default
                                                server */
        rtrcu_store_release(&server->state, WORK_NONE);
        return true;
    }
    plat_thread_prepare(&server->thread, server->adopted->flavour.name, server_body, server, 0);
    plat_thread_prepare_joinable(&server->thread);
    int error = plat_thread_create(&server->thread, work_attr(server->adopted->all->work));
    rtrcu_store_relaxed(&server->refused, error);
    if (error)
        rtrcu_fetch_add(&server->adopted->threads_refused, 1);
    rtrcu_store_release(&server->state, error ? WORK_NONE : WORK_RUNNING);
    return !error;
}

/* Creates the server's thread, if it has none.  Signals are blocked between claim and creation: a handler might wait
 * for the thread. */
bool urcu_server_start(struct adopt_server *server)
{
    sigset_t saved;
    if (rtrcu_load_acquire(&server->state) != WORK_NONE)
        return true;
    plat_signals_block(&saved);
    bool runs = make_thread(server);
    plat_signals_restore(&saved);
    return runs;
}

bool urcu_server_urge(struct adopt_server *server)
{
    bool runs = urcu_server_start(server);
    rtrcu_exchange(&server->urgent, 1);
    wake(server);
    return runs;
}

/* May the calling thread wait for a smaller backlog?  False in a section, online, or in a callback: the grace period,
 * or the server itself, would wait for this thread. */
static bool may_block(const struct rtrcu_adopted *adopted)
{
    const struct rtrcu_adopted_reader *self = urcu_self(adopted);
    return !self || !(self->in_callbacks || urcu_is_inside(adopted, rtrcu_load_relaxed(&self->word)));
}

static bool wait_below_qmax(struct adopt_server *server)
{
    struct work_patience patience = {0};

    while (is_full(server)) { /* ends when the server has caught up, or makes no progress */
        uint64_t invoked = rtrcu_load_relaxed(&server->invoked);
        if (work_patience_left(&patience, invoked, invoked) < 0)
            return false;

        (void)urcu_server_urge(server);
        urcu_sleep_on(server->adopted, &server->adopted->nap, 0, urcu_tick_ns(server->adopted));
    }

    return true;
}

/* At qmax: wake the server's thread; with backpressure=block the caller waits for a smaller backlog first. */
static void press(struct adopt_server *server)
{
    struct rtrcu_adopted *adopted = server->adopted;

    if (!is_full(server))
        return;

    if (config_now(adopted->all->config)->backpressure == RTRCU_BACKPRESSURE_BLOCK && may_block(adopted)) {
        rtrcu_fetch_add(&adopted->blocked, 1);
        if (wait_below_qmax(server))
            return;
    }

    rtrcu_fetch_add(&adopted->over_qmax, 1);
    if (!server->real_time && rtrcu_load_relaxed(&server->sleeping) != URCU_AWAKE)
        (void)urcu_server_urge(server);
}

void urcu_server_wake(struct adopt_server *server)
{
    (void)urcu_server_start(server);
    if (!server->real_time && rtrcu_load_relaxed(&server->sleeping) == URCU_ASLEEP)
        wake(server);
}

static __attribute__((noinline)) void call_slow(struct adopt_server *server, bool looks)
{
    urcu_server_wake(server);
    if (looks)
        press(server);
}

/* [O8] Producer half; the server's half is sleep_idle().  cbqueue_push() exchanges the tail, which is a full fence;
 * then the inbox is not empty.  A thread that filled an empty inbox then reads whether the server sleeps. */
void urcu_server_call(struct adopt_server *server, struct rcu_head *head, rcu_callback_t func)
{
    head->func = func;
    bool first = cbqueue_push(&server->queue, head, CB_ANYBODY);
    bool looks = cbqueue_enqueued(&server->queue) % CHECK_EVERY == 0;

    if (first)
        rtrcu_store_relaxed(&server->inbox_ns, plat_clock_now());
    if (first || looks || rtrcu_load_relaxed(&server->state) == WORK_NONE)
        call_slow(server, looks);
}

/* ---- creation and end ---- */

void urcu_server_init(struct adopt_server *server, struct rtrcu_adopted *adopted, unsigned long flags, int cpu)
{
    cbqueue_init(&server->queue);
    server->adopted = adopted;
    server->real_time = (flags & FLAG_REAL_TIME) != 0;
    server->cpu = cpu;

    lock_acquire(&adopted->servers_lock);
    server->next = adopted->servers;
    adopted->servers = server;
    lock_release(&adopted->servers_lock);
}

struct adopt_server *urcu_server_create(struct rtrcu_adopted *adopted, unsigned long flags, int cpu)
{
    struct adopt_server *server = plat_mem_pages(sizeof(*server));
    if (!server)
        return NULL;

    urcu_server_init(server, adopted, flags, cpu);
    (void)urcu_server_start(server);
    return server;
}

static void unlist(struct rtrcu_adopted *adopted, struct adopt_server *server)
{
    must_hold(&adopted->servers_lock);
    struct adopt_server **at = &adopted->servers;

    while (*at && *at != server)
        at = &(*at)->next;
    if (*at)
        *at = server->next;

    adopted->invoked_by_gone += rtrcu_load_relaxed(&server->invoked);
}

/* Move the server's remaining callbacks to the default server, in order; no thread queues to it any more.  The removal
 * from the list is under the same lock, so rcu_barrier() either has put its marker into this queue, and the marker
 * moves along, or finds the callbacks at the default server. */
static void hand_over(struct rtrcu_adopted *adopted, struct adopt_server *server)
{
    struct adopt_server *heir = &adopted->ordinary;
    struct rcu_head *head;

    lock_acquire(&adopted->servers_lock);
    for (uint32_t looks = 0; !cbqueue_inbox_is_empty(&server->queue) && !take(server); looks++)
        let_it_finish(server, looks); /* ends when the producer of the open link continues */
    bool has_some = !cbchain_is_empty(&server->batch);
    while ((head = next_of(server, NULL)))
        (void)cbqueue_push(&heir->queue, head, CB_ANYBODY);
    unlist(adopted, server);
    lock_release(&adopted->servers_lock);

    if (has_some)
        call_slow(heir, true);
}

/* Request that the server's thread stops, at the latest after its batch, and that no thread creates it again.  True:
 * the thread has stopped, or does not exist.  Since both sides use atomic updates, either a creating thread sees the
 * stop flag, or this function sees WORK_STARTING.  A creating thread that sees the flag soon sets WORK_NONE
 * again. */
static bool has_stopped(struct adopt_server *server)
{
    rtrcu_exchange(&server->stop, 1);
    wake(server);
    return rtrcu_load_acquire(&server->state) == WORK_NONE || rtrcu_load_acquire(&server->ended);
}

/* Stops the server's thread, moves its callbacks to the default server, and only then joins the thread: destructors of
 * that thread may wait for these callbacks, which this server no longer runs. */
void urcu_server_free(struct rtrcu_adopted *adopted, struct adopt_server *server)
{
    if (!server || server == &adopted->ordinary)
        return;

    int cancel = plat_cancel_hold();
    struct urcu_late late = urcu_late_begin(adopted, "call_rcu_data_free");
    while (!has_stopped(server)) { /* ends when its thread has run its batch */
        urcu_sleep_on(adopted, &server->ended, 0, WORK_PATIENCE_NS);
        urcu_report_if_late(adopted, &late, server);
    }

    hand_over(adopted, server);
    if (rtrcu_load_acquire(&server->ended) && !server->joined_by_program)
        plat_thread_join(&server->thread);
    plat_mem_release(server, sizeof(*server));
    plat_cancel_restore(cancel);
}

unsigned long urcu_server_thread(struct adopt_server *server)
{
    struct urcu_late late = urcu_late_begin(server->adopted, "get_call_rcu_thread");
    while (!urcu_server_start(server) || plat_tid_is_nobody(plat_thread_tid(&server->thread))) { /* until it runs */
        urcu_sleep_on(server->adopted, &server->adopted->nap, 0, LINK_NAP_NS);
        urcu_report_if_late(server->adopted, &late, server);
    }
    server->joined_by_program = true;
    return plat_thread_handle(&server->thread);
}

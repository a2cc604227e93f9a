/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A server of callbacks: one thread, which runs what is queued to it in order, each batch behind a grace period.
 *
 * Its thread is a reader of the flavour, since callbacks have the flavour's read side compiled in; in the
 * quiescent-state discipline it is online while it runs them.
 * tested by: test/dropin/servers.c
 */
#include "urcu/urcu.h"

/* liburcu's URCU_CALL_RCU_RT. */
#define FLAG_REAL_TIME 1u
/* A server that nobody wakes looks once in so long. */
#define UNWOKEN_NS 10000000
/* Callbacks between two looks at forks; in the quiescent-state discipline, between two quiescent states. */
#define BATCH 64
/* Looks at a link that its producer has not finished yet before the CPU is left to it. */
#define LINK_LOOKS 64
#define LINK_NAP_NS 50000
/* A thread that queues looks at the limits once in so many. */
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

/* Leave the CPU to a producer that has not finished its link yet. */
static void let_it_finish(const struct adopt_server *server, uint32_t looks)
{
    if (looks < LINK_LOOKS)
        rtrcu_cpu_relax();
    else
        urcu_sleep_on(server->adopted, &server->adopted->nap, 0, LINK_NAP_NS);
}

/* Nobody forks meanwhile.  False: there is nothing, or a producer has not finished the first link. */
static bool take(struct adopt_server *server)
{
    struct cb_chain chain = cbqueue_take_inbox(&server->queue);
    cbqueue_join(&server->batch, chain);
    if (cbchain_is_empty(&chain))
        return false;

    /* A producer that comes late with its time leaves it to the next batch. */
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

/* [O8] The server's half, as driver_sleep_until_new(); a thread that queues has exchanged the inbox's tail, then reads
 * the flag. */
static void sleep_idle(struct adopt_server *server, uint32_t event)
{
    rtrcu_exchange(&server->sleeping, URCU_ASLEEP);
    if (!has_work(server))
        urcu_sleep_on(server->adopted, &server->event, event, server->real_time ? UNWOKEN_NS : PLAT_FOREVER);
    rtrcu_store_release(&server->sleeping, URCU_AWAKE);
}

/* Let some come together, unless somebody waits for them or there are many. */
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

/* A fork's prepare handler waits until no callback is under way; true: one may be begun, @anyway: although a thread
 * forks.  A forker that saw us meanwhile is told as after a batch. */
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

/* Under the lock, which a forker holds: otherwise its child would have what is taken nowhere. */
static void gather(struct adopt_server *server)
{
    for (uint32_t looks = 0; !cbqueue_inbox_is_empty(&server->queue); looks++) { /* ends when its producer goes on */
        lock_acquire(&server->adopted->servers_lock);
        bool taken = take(server);
        lock_release(&server->adopted->servers_lock);
        if (taken)
            return;
        let_it_finish(server, looks);
    }
}

/* The next callback; NULL: there is none, or one is @forking, perhaps the producer that is waited for, in a handler. */
static struct rcu_head *next_of(struct adopt_server *server, const struct tally *forking)
{
    for (uint32_t looks = 0; !cbchain_is_empty(&server->batch); looks++) { /* ends when its producer goes on */
        rtrcu_store_relaxed(&server->running, cbchain_first(&server->batch));
        rtrcu_store_release(&server->started, rtrcu_load_relaxed(&server->invoked) + 1);
        rtrcu_fence_light(); /* a handler that forks finds it in the batch, or that it has begun: is_in_callback() */
        struct rcu_head *head = cbqueue_pop(&server->batch);
        if (head || (forking && tally_read(forking)))
            return head;
        let_it_finish(server, looks);
    }
    return NULL;
}

/* Above ordinary threads while the backlog is at qmax, as far as it may be. */
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

/* Callbacks, or deferred functions. */
struct errand {
    bool (*is_left)(struct adopt_server *server);
    bool (*run_one)(struct adopt_server *server); /* false: there is none, or one is forking */
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

/* False: it has been told to end, whatever is queued to it still: callbacks may queue themselves again for ever. */
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

    /* What came during the pause shares the grace period. */
    gather(server);

    bool drains = has_deferred(server) && urcu_drain_begin(server->adopted);
    urcu_wait(server->adopted, urcu_snap(server->adopted));
    if (drains) {
        run_all(server, &deferred);
        (void)urcu_drain_release(server->adopted); /* serve() looks again */
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
    call_begin(); /* a handler that forks here leaves a child without this thread's other half */
    if (server->cpu >= 0)
        (void)plat_cpu_bind(server->cpu);

    while (!urcu_register(adopted)) /* ends when there is memory for a record */
        urcu_sleep_on(adopted, &adopted->nap, 0, UNWOKEN_NS);

    urcu_self(adopted)->server = server;
    urcu_self(adopted)->in_callbacks = 1;
    server->lifted = false;

    if (adopted->flavour.kind == RTRCU_ADOPT_QSBR)
        urcu_offline(adopted);

    while (serve(server)) /* ends when it is freed */
        ;

    call_end();
    /* From here on it is no server's: its destructors may queue callbacks, wait for them, and fork. */
    struct rtrcu_adopted_reader *self = urcu_self(adopted);
    if (self) { /* bp: unless a callback has unregistered it */
        self->server = NULL;
        self->in_callbacks = 0;
    }
    urcu_unregister(adopted);
    rtrcu_exchange(&server->ended, 1);
    plat_futex_wake(&server->ended, INT32_MAX); /* the server may be gone: then nobody waits there */
    return NULL;
}

/* ---- threads that queue ---- */

/* False: no thread is to be had. */
static bool make_thread(struct adopt_server *server)
{
    uint32_t none = WORK_NONE;
    if (!rtrcu_compare_exchange(&server->state, &none, WORK_STARTING))
        return true;
    if (rtrcu_load_acquire(&server->stop)) { /* who frees it has what it has left, and needs no thread */
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

/* No handler runs between claim and thread: it might wait for the thread. */
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

/* Not who may be waited for: a reader, an online one too, or a callback. */
static bool may_block(const struct rtrcu_adopted *adopted)
{
    const struct rtrcu_adopted_reader *self = urcu_self(adopted);
    return !self || !(self->in_callbacks || urcu_is_inside(adopted, rtrcu_load_relaxed(&self->word)));
}

static bool wait_below_qmax(struct adopt_server *server)
{
    struct work_patience patience = {0};

    while (is_full(server)) { /* ends when the server has caught up, or stands still */
        if (work_patience_left(&patience, rtrcu_load_relaxed(&server->invoked)) < 0)
            return false;

        (void)urcu_server_urge(server);
        urcu_sleep_on(server->adopted, &server->adopted->nap, 0, urcu_tick_ns(server->adopted));
    }

    return true;
}

/* At qmax: its thread is awake, and runs as soon as it can; block: the caller lets it catch up. */
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

/* [O8] The producer's half: cbqueue_push() exchanges the tail, a full fence, and the inbox is not empty from there on;
 * the thread that made it so looks whether the server sleeps. */
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

/* ---- beginning and end ---- */

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

/* What it had not run yet goes to the default one, in order; nobody queues to it any more.  Under one lock with its end
 * as a server, so that rcu_barrier() marks it before, and the mark goes along, or what it had is the default one's. */
static void hand_over(struct rtrcu_adopted *adopted, struct adopt_server *server)
{
    struct adopt_server *heir = &adopted->ordinary;
    struct rcu_head *head;

    lock_acquire(&adopted->servers_lock);
    for (uint32_t looks = 0; !cbqueue_inbox_is_empty(&server->queue) && !take(server); looks++)
        let_it_finish(server, looks); /* ends when its producer goes on */
    bool has_some = !cbchain_is_empty(&server->batch);
    while ((head = next_of(server, NULL)))
        (void)cbqueue_push(&heir->queue, head, CB_ANYBODY);
    unlist(adopted, server);
    lock_release(&adopted->servers_lock);

    if (has_some)
        call_slow(heir, true);
}

/* Its thread has at most a batch left, and no other is made.  Either who would make one sees that it shall stop, or it
 * is seen here that one is made: both by updates.  Who sees it shows that it makes one for a moment all the same. */
static bool has_stopped(struct adopt_server *server)
{
    rtrcu_exchange(&server->stop, 1);
    wake(server);
    return rtrcu_load_acquire(&server->state) == WORK_NONE || rtrcu_load_acquire(&server->ended);
}

/* Its thread is waited for last: a destructor there may wait for callbacks,
 * which a server that is listed and has no thread would never run. */
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

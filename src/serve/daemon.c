/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The daemons krcud/N: one per CPU, which invoke callbacks preemptibly, one queue at a time.
 *
 * tested by: test/api/callbacks.cc
 */
#include <pthread.h>
#include <stdio.h>

#include "serve/serve.h"

/* Largest batch of one queue before the next queue; a daemon is preemptible, so this bounds unfairness, not latency. */
#define DAEMON_BATCH 4096
/* Largest batch that runs although a thread forks; the forking thread waits for its end. */
#define DAEMON_BATCH_AT_FORK 64

/* Under the lock: may a batch begin? */
static bool may_begin(struct serve_daemon *daemon, bool *anyway)
{
    struct serve *serve = daemon->serve;
    if (!work_pause_allows(&serve->fork.pause, serve->config, &daemon->held_off_ns, anyway))
        return false;
    daemon->held_off_ns = 0;
    return true;
}

/* The next queue to serve.  NULL: no queue is listed, or a thread forks. */
static struct reader_record *take(struct serve_daemon *daemon, bool *anyway)
{
    lock_acquire(&daemon->lock);
    struct reader_record *record = rtrcu_load_relaxed(&daemon->first);
    if (record && !may_begin(daemon, anyway))
        record = NULL;

    if (record) {
        rtrcu_store_relaxed(&daemon->first, serve_slot(record)->next_ready);
        if (!serve_slot(record)->next_ready)
            daemon->last = NULL;
        serve_slot(record)->next_ready = NULL;
        daemon->serving++;
    }

    lock_release(&daemon->lock);
    return record;
}

static bool begin_aside(struct serve_daemon *aside, bool *anyway)
{
    lock_acquire(&aside->lock);
    bool may = may_begin(aside, anyway);
    aside->serving += may;
    lock_release(&aside->lock);
    return may;
}

/* Budget of one batch: a fork stops the batch, unless forks have held off the invoker for too long. */
static struct callback_budget batch_budget(struct serve *serve, bool anyway)
{
    return (struct callback_budget){.count_max = anyway ? DAEMON_BATCH_AT_FORK : DAEMON_BATCH,
                                    .may_wait = true,
                                    .stop = anyway ? NULL : work_pause_forking(&serve->fork.pause)};
}

/* End an invocation: the thread is between callbacks again.  If a callback forked, the child has started its own
 * count of invokers. */
static void end_invocation(struct serve_daemon *daemon, uint32_t generation)
{
    struct serve *serve = daemon->serve;
    if (generation != serve->fork.generation)
        return;

    lock_acquire(&daemon->lock);
    daemon->serving--;
    lock_release(&daemon->lock);

    work_pause_tell(&serve->fork.pause); /* a forking thread that saw this invoker running waits for it */
}

static void insert(struct serve_daemon *daemon, struct reader_record *record, bool in_front)
{
    must_hold(&daemon->lock);
    invariant("INV-DR1", serve_slot(record)->next_ready == NULL && rtrcu_load_relaxed(&serve_slot(record)->listed));

    struct reader_record *first = rtrcu_load_relaxed(&daemon->first);
    if (in_front && first) {
        serve_slot(record)->next_ready = first;
        rtrcu_store_relaxed(&daemon->first, record);
        return;
    }

    if (daemon->last)
        serve_slot(daemon->last)->next_ready = record;
    else
        rtrcu_store_relaxed(&daemon->first, record);
    daemon->last = record;
}

/* Put the queue on the daemon's list.  False: the daemon's thread has ended, and the queue is on no list. */
static bool append(struct serve_daemon *daemon, struct reader_record *record, bool in_front)
{
    lock_acquire(&daemon->lock);
    bool runs = work_thread_runs(&daemon->thread);
    if (runs)
        insert(daemon, record, in_front);
    lock_release(&daemon->lock);
    return runs;
}

/* Record that no daemon serves the queue any more, and release the slot if its thread has exited. */
static void unlist(struct reader_record *record)
{
    rtrcu_exchange(&serve_slot(record)->listed, 0);
    serve_release_slot(record);
}

/* Append the queue to the list again.  If the thread that owns the list has ended, the driver's next tick enqueues the
 * queue. */
static void put_back(struct serve_daemon *daemon, struct reader_record *record)
{
    if (!append(daemon->list, record, false))
        unlist(record);
}

void serve_release_slot(struct reader_record *record)
{
    if (reader_is_registered(record))
        return;

    reader_lock(reader_leaf_of(record));
    callback_release_slot(record);
    if (!rtrcu_load_acquire(&serve_slot(record)->listed))
        reader_release_slot(record, READER_SERVE);
    reader_unlock(reader_leaf_of(record));
}

/* The daemon's nice value without a flood: krcud_nice, relative to the nice value with which the process began. */
static int wanted_nice(const struct serve_daemon *daemon)
{
    return work_thread_nice(&daemon->thread) + daemon->settings->krcud_nice;
}

/* Raise the daemon above ordinary threads while a backlog is at qmax, as far as permitted. */
static void lift(struct serve_daemon *daemon)
{
    bool flood = work_is_flooded(daemon->serve->work, plat_clock_now());
    if (daemon->settings->krcud_rtprio <= 0)
        (void)work_backlog_lift(flood, &daemon->lifted, wanted_nice(daemon));
}

/* Run one batch of a queue.  If callbacks remain, the queue goes to the end of the list; otherwise it is unlisted. */
static void serve(struct serve_daemon *daemon, struct reader_record *record, bool anyway)
{
    struct serve *serve = daemon->serve;
    uint32_t generation = daemon->generation;
    struct callback_budget budget = batch_budget(serve, anyway);
    uint32_t made_ready = callback_times_ready(record);

    lift(daemon);

    struct callback_run run = callback_invoke(serve->cb, record, &budget);
    serve_progress(serve);

    if (generation != serve->fork.generation)
        return; /* a callback forked: in the child the queue is on no list, and the child's driver enqueues it */

    if (run.done && callback_has_ready(record)) {
        put_back(daemon, record);
        return;
    }

    /* The queue is empty; or one of its links is unfinished, and the driver lists the queue again at its next tick; or
     * the owner holds the claim, and makes the driver list the queue again [O23].  If callbacks became ready meanwhile,
     * the daemon lists the queue again.
     * [O8] The daemon exchanges `listed`, then reads the hint `has_ready`.  callback_advance() stores the hint, the
     * lock_release() of its caller fences, then serve_daemon_enqueue() reads `listed`. */
    rtrcu_exchange(&serve_slot(record)->listed, 0);
    bool more = run.done || callback_times_ready(record) != made_ready;
    if (run.claimed)
        more = !callback_want(record);

    if (more && callback_has_ready(record) && !rtrcu_exchange(&serve_slot(record)->listed, 1))
        put_back(daemon, record);
    else
        serve_release_slot(record);
}

static void set_nice(struct serve_daemon *daemon)
{
    if (daemon->settings->krcud_nice != 0 && plat_sched_set_nice(wanted_nice(daemon)) != 0)
        (void)work_count_rt_refused(daemon->serve->work);
}

static void serve_one(struct serve_daemon *daemon)
{
    bool anyway;
    uint32_t event = work_thread_event(&daemon->thread);
    struct reader_record *record = take(daemon->list, &anyway);

    if (record) {
        work_rt_runs(daemon->serve->work, &daemon->rt);
        daemon->generation = daemon->serve->fork.generation;
        rtrcu_store_relaxed(&daemon->served, record);
        serve(daemon, record, anyway);
        rtrcu_store_relaxed(&daemon->served, NULL);
        end_invocation(daemon->list, daemon->generation);
        return;
    }

    work_thread_prepare_sleep(&daemon->thread, WORK_ASLEEP);
    if (!rtrcu_load_acquire(&daemon->list->first))
        work_thread_sleep(daemon->serve->work, &daemon->thread, event, PLAT_FOREVER);
    else if (tally_read(work_pause_forking(&daemon->serve->fork.pause)))
        /* until the fork ends, or until the daemon may run a batch although a thread forks */
        work_thread_sleep(daemon->serve->work, &daemon->thread, event, work_tick_ns(daemon->serve->work));
    work_thread_finish_sleep(&daemon->thread);
}

/* Called when the daemon's thread ends, by a callback or at a shutdown.  Unlist the queue of that callback, and all
 * queues of the daemon's list: at its next tick the driver passes them to a daemon, which is created again. */
static void on_thread_end(void *argument)
{
    struct serve_daemon *daemon = argument, *list = daemon->list;
    struct reader_record *served = rtrcu_load_relaxed(&daemon->served);
    rtrcu_store_relaxed(&daemon->served, NULL);

    serve_progress(daemon->serve);
    if (served && daemon->generation == daemon->serve->fork.generation)
        unlist(served); /* the child of a fork has unlisted the queue already */
    if (served)
        end_invocation(list, daemon->generation);

    lock_acquire(&list->lock);
    work_thread_ended(daemon->serve->work, &daemon->thread);
    struct reader_record *left = rtrcu_load_relaxed(&list->first);
    rtrcu_store_relaxed(&list->first, NULL);
    list->last = NULL;
    lock_release(&list->lock);

    while (left) { /* ends with the list: no other thread appends to it */
        struct reader_record *record = left;
        left = serve_slot(record)->next_ready;
        serve_slot(record)->next_ready = NULL;
        unlist(record);
    }
}

static void *body(void *argument)
{
    struct serve_daemon *daemon = argument;
    daemon->lifted = false;
    set_nice(daemon);
    work_rt_begins(daemon->serve->work, &daemon->rt, &daemon->thread, WORK_RT_DAEMON);
    pthread_cleanup_push(on_thread_end, daemon);
    while (work_goes_on(daemon->serve->work)) /* a callback may also end the thread */
        serve_one(daemon);
    pthread_cleanup_pop(1);
    return NULL;
}

/* Raise the number of CPUs on which daemons may exist. */
static void show_cpu(struct serve *serve, uint32_t cpu)
{
    uint32_t cpus = rtrcu_load_relaxed(&serve->daemon_cpus);
    while (cpus <= cpu && !rtrcu_compare_exchange(&serve->daemon_cpus, &cpus, cpu + 1))
        ; /* each failure means that another thread has raised the number */
}

int serve_daemon_start(struct serve_daemon *daemon, const struct rtrcu_config *settings,
                       const struct plat_thread_attr *attr)
{
    struct work *work = daemon->serve->work;
    char name[16];
    sigset_t saved;

    int claimed = work_thread_claim(work, &daemon->thread, &saved);
    if (claimed <= 0)
        return claimed;

    show_cpu(daemon->serve, daemon->cpu);
    snprintf(name, sizeof(name), "krcud/%u%s", daemon->cpu, daemon->list == daemon ? "" : "+");
    daemon->settings = settings;
    struct work_thread_spec start = {.name = name,
                                     .body = body,
                                     .argument = daemon,
                                     .priority = work_rt_priority(work, WORK_RT_DAEMON),
                                     .attr = attr};
    return work_thread_make(work, &daemon->thread, &start, &saved);
}

/* The daemon of @cpu; if its thread is refused, another daemon that runs.  NULL: none runs. */
static struct serve_daemon *daemon_for(struct serve *serve, uint32_t cpu)
{
    struct serve_daemon *daemon = &serve->daemon[cpu % PLAT_CPU_MAX];
    int error = serve_daemon_start(daemon, config_now(serve->config), work_attr(serve->work));

    for (uint32_t other = 0; error && other < PLAT_CPU_MAX; other++) {
        daemon = &serve->daemon[other];
        if (work_thread_runs(&daemon->thread))
            error = 0;
    }

    return error ? NULL : daemon;
}

/* A batch run by a thread that is no daemon; end_service() ends it, also when a callback throws. */
struct service {
    struct serve *serve;
    struct reader_record *record; /* NULL: nothing to unlist, since another thread serves the queue */
    uint32_t generation;
};

static void end_service(struct service *service)
{
    if (service->record && service->generation == service->serve->fork.generation)
        unlist(service->record); /* the child of a fork has unlisted the queue already */
    end_invocation(&service->serve->aside, service->generation);
}

/* Budget for a batch of @record's queue in a thread that is no daemon.  The calling thread's deadline limits the
 * batch, even if the callbacks belong to another thread. */
static struct callback_budget budget_in_call(struct serve *serve, struct reader_record *record,
                                             const struct serve_call_budget *call_budget, bool anyway)
{
    const struct reader_record *own = reader_self();
    struct callback_budget budget = batch_budget(serve, anyway);

    if (own)
        budget.deadline_ns = callback_deadline(own);

    if (call_budget->ns != PLAT_FOREVER) {
        budget.count_max = anyway ? DAEMON_BATCH_AT_FORK : callback_count_limit(serve->cb, record);
        budget.end_ns = plat_clock_now() + call_budget->ns - call_budget->spent_ns;
    }

    return budget;
}

/* Run a batch within the time that a call of the program has left for it, and record the time spent. */
static void serve_within(struct serve *serve, struct reader_record *record, struct serve_call_budget *call_budget,
                         bool anyway)
{
    struct callback_budget budget = budget_in_call(serve, record, call_budget, anyway);
    int64_t allowed_ns = call_budget->ns - call_budget->spent_ns;

    callback_invoke(serve->cb, record, &budget);
    if (budget.end_ns)
        call_budget->spent_ns += plat_clock_now() - (budget.end_ns - allowed_ns);
    call_budget->left |= callback_has_ready(record);
}

void serve_in_call(struct serve *serve, struct reader_record *record, struct serve_call_budget *call_budget)
{
    uint32_t generation = serve->fork.generation;
    bool anyway;

    if (call_budget->spent_ns >= call_budget->ns) {
        call_budget->left = true;
        return;
    }

    if (rtrcu_load_relaxed(&serve_slot(record)->listed) || !begin_aside(&serve->aside, &anyway))
        return; /* a daemon has the queue, or a thread forks: the queue stays ready */

    struct service service __attribute__((cleanup(end_service))) = {.serve = serve, .generation = generation};
    if (rtrcu_exchange(&serve_slot(record)->listed, 1))
        return;

    service.record = record;
    serve_within(serve, record, call_budget, anyway);
    serve_progress(serve);
}

bool serve_daemon_enqueue(struct serve *serve, struct reader_record *record, uint32_t cpu, bool urgent)
{
    if (rtrcu_load_relaxed(&serve_slot(record)->listed))
        return true;

    struct serve_daemon *daemon = daemon_for(serve, cpu);
    if (!daemon)
        return false;

    if (!work_thread_runs(&daemon->thread) || rtrcu_exchange(&serve_slot(record)->listed, 1))
        return true; /* another thread creates the daemon, or has the queue; else the driver's next tick enqueues it */

    counter_add(&serve->krcud_given, 1);
    if (!append(daemon, record, urgent)) {
        rtrcu_exchange(&serve_slot(record)->listed, 0); /* the daemon has exited: the driver's next tick retries */
        return true;
    }

    rtrcu_fence_full();
    if (work_thread_sleeps(&daemon->thread))
        work_thread_wake(&daemon->thread);
    return true;
}

int serve_daemon_start_all(struct serve *serve, const struct rtrcu_config *settings,
                           const struct plat_thread_attr *attr)
{
    int error = 0;
    work_retry(serve->work);
    for (uint32_t cpu = 0; cpu < PLAT_CPU_MAX && !error; cpu++) {
        if (plat_cpus_has(&attr->cpus, cpu))
            error = serve_daemon_start(&serve->daemon[cpu], settings, attr);
    }
    return error;
}

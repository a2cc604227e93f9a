/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reports of an adopted flavour: a grace period that does not end, with its holdouts; calls that wait for callbacks.
 *
 * tested by: test/dropin/stopped.c, test/dropin/late.c
 */
#include "urcu/urcu.h"

#define NAMED 8

/* Value: one reader in a report. */
struct named {
    struct plat_tid thread;
    uint64_t word;
};

/* Store the first holdouts in @named, at most NAMED; returns the number of all holdouts. */
static uint32_t gather(struct rtrcu_adopted *adopted, struct named *named)
{
    struct urcu_chunk *chunk = NULL;
    struct adopt_record *record;
    uint32_t count = 0;

    lock_acquire(&adopted->words_lock);
    for (uint32_t at; (record = urcu_next_record(adopted, &chunk, &at));) {
        if (!record->is_holdout)
            continue;
        if (count < NAMED)
            named[count] = (struct named){{rtrcu_load_relaxed(&record->thread_id)}, record->seen};
        count++;
    }
    lock_release(&adopted->words_lock);

    return count;
}

static void say(const struct rtrcu_adopted *adopted, const struct named *named)
{
    char name[32];
    struct plat_thread_snapshot look;

    plat_thread_name(named->thread, name, sizeof(name));
    plat_thread_snapshot(named->thread, &look);

    if (adopted->flavour.kind == RTRCU_ADOPT_QSBR)
        plat_print("rtrcu:   thread %u (%s) is online and has passed no quiescent state; state %c\n",
                   named->thread.number, name, look.state);
    else
        plat_print("rtrcu:   thread %u (%s) is inside, nesting %u; state %c\n", named->thread.number, name,
                   (uint32_t)named->word, look.state);
}

void urcu_report_if_old(struct rtrcu_adopted *adopted, bool fenced)
{
    struct named named[NAMED];
    int64_t age_ns = plat_clock_now() - adopted->began_ns;

    if (age_ns < adopted->report_ns)
        return;

    adopted->report_ns = watch_next_report(adopted->all->watch, adopted->report_ns);
    rtrcu_fetch_add(&adopted->stalls, 1);

    if (!fenced) {
        plat_print("rtrcu: %s: grace periods cannot end: the kernel refuses membarrier() and visits to other CPUs;"
                   " allow membarrier() for this process\n",
                   adopted->flavour.name);
        return;
    }

    uint32_t count = gather(adopted, named);
    plat_print("rtrcu: %s: a grace period has waited %lld ms for %u reader%s\n", adopted->flavour.name,
               (long long)(age_ns / 1000000), count, count == 1 ? "" : "s");
    for (uint32_t i = 0; i < count && i < NAMED; i++)
        say(adopted, &named[i]);
}

/* ---- calls that wait for callbacks ---- */

/* Value: one server in a report. */
struct named_server {
    uint64_t left;          /* callbacks that have not returned */
    struct plat_tid thread; /* none = the server has no thread */
    int32_t refused;
    uintptr_t function; /* function that the thread runs, or has just run; 0 = none */
};

/* Fill in @named.  True if the server has callbacks, or if @always.  Under the servers lock. */
static bool look_at(const struct adopt_server *server, bool always, struct named_server *named)
{
    const struct rtrcu_adopted *adopted = server->adopted;
    struct plat_tid thread = plat_thread_tid(&server->thread);
    bool has_thread = rtrcu_load_acquire(&server->state) != WORK_NONE;
    bool drains = has_thread && rtrcu_load_relaxed(&adopted->drainer) == thread.number;
    uint64_t invoked = rtrcu_load_relaxed(&server->invoked);

    *named = (struct named_server){.left = cbqueue_enqueued(&server->queue) - invoked,
                                   .thread = has_thread ? thread : PLAT_NOBODY,
                                   .refused = rtrcu_load_relaxed(&server->refused)};
    if (drains)
        named->function = rtrcu_load_relaxed(&adopted->running_deferred);
    else if (rtrcu_load_relaxed(&server->serving))
        named->function = rtrcu_load_relaxed(&server->function);
    return always || named->left != 0;
}

static uint32_t gather_servers(struct rtrcu_adopted *adopted, const struct adopt_server *only,
                               struct named_server *named)
{
    uint32_t count = 0;
    lock_acquire(&adopted->servers_lock);
    for (const struct adopt_server *server = adopted->servers; server; server = server->next) {
        struct named_server one;
        if ((only && server != only) || !look_at(server, server == only, &one))
            continue;
        if (count < NAMED)
            named[count] = one;
        count++;
    }
    lock_release(&adopted->servers_lock);
    return count;
}

static void say_server(const struct named_server *named)
{
    char name[PLAT_THREAD_NAME], function[160] = "none now";
    struct plat_thread_snapshot look;

    if (plat_tid_is_nobody(named->thread)) {
        plat_print("rtrcu:   for %llu callbacks of a handle without a thread: %s (error %d)%s\n",
                   (unsigned long long)named->left, named->refused ? "no thread can be created" : "none is created yet",
                   -named->refused, named->refused ? "; raise RLIMIT_NPROC, or the limit of memory" : "");
        return;
    }

    plat_thread_name(named->thread, name, sizeof(name));
    plat_thread_snapshot(named->thread, &look);
    if (named->function)
        (void)plat_code(named->function, function, sizeof(function));
    plat_print("rtrcu:   for %llu callbacks of thread %u (%s), which runs %s%s; state %c\n",
               (unsigned long long)named->left, named->thread.number, name,
               named->function ? "or has just run the function at " : "", function, look.state);
}

struct urcu_late urcu_late_begin(const struct rtrcu_adopted *adopted, const char *call)
{
    return (struct urcu_late){
        .call = call, .began_ns = plat_clock_now(), .report_ns = watch_next_report(adopted->all->watch, 0)};
}

/* Age in milliseconds, if a report is due; else -1. */
static long long late_ms(struct rtrcu_adopted *adopted, struct urcu_late *late)
{
    int64_t age_ns = plat_clock_now() - late->began_ns;
    if (age_ns < late->report_ns)
        return -1;
    late->report_ns = watch_next_report(adopted->all->watch, late->report_ns);
    rtrcu_fetch_add(&adopted->stalls, 1);
    return age_ns / 1000000;
}

void urcu_report_if_late(struct rtrcu_adopted *adopted, struct urcu_late *late, const struct adopt_server *only)
{
    struct named_server named[NAMED];
    long long age_ms = late_ms(adopted, late);
    if (age_ms < 0)
        return;

    uint32_t count = gather_servers(adopted, only, named);
    plat_print("rtrcu: %s: %s() has waited for %lld ms:\n", adopted->flavour.name, late->call, age_ms);
    for (uint32_t i = 0; i < count && i < NAMED; i++)
        say_server(&named[i]);
    if (count > NAMED)
        plat_print("rtrcu:   and for callbacks of %u more servers\n", count - NAMED);
}

void urcu_report_drainer_if_late(struct rtrcu_adopted *adopted, struct urcu_late *late, struct plat_tid drainer)
{
    char name[PLAT_THREAD_NAME], function[160] = "none now";
    uintptr_t running = rtrcu_load_relaxed(&adopted->running_deferred);
    long long age_ms = late_ms(adopted, late);
    if (age_ms < 0)
        return;

    plat_thread_name(drainer, name, sizeof(name));
    if (running)
        (void)plat_code(running, function, sizeof(function));
    plat_print("rtrcu: %s: %s() has waited for %lld ms for the deferred functions of thread %u (%s), which runs %s%s\n",
               adopted->flavour.name, late->call, age_ms, drainer.number, name,
               running ? "or has just run the function at " : "", function);
}

/* ---- statistics ---- */

/* When the oldest callback that has not returned was queued; 0: unknown, or there is none. */
static int64_t oldest_of(const struct adopt_server *server)
{
    int64_t batch_ns = rtrcu_load_relaxed(&server->batch_ns);
    if (rtrcu_load_relaxed(&server->invoked) == cbqueue_enqueued(&server->queue))
        return 0;
    return batch_ns ? batch_ns : rtrcu_load_relaxed(&server->inbox_ns);
}

static void count_callbacks(struct rtrcu_adopted *adopted, struct rtrcu_stats *stats)
{
    lock_acquire(&adopted->servers_lock);
    stats->callbacks_queued = stats->callbacks_invoked = adopted->invoked_by_gone;
    for (const struct adopt_server *server = adopted->servers; server; server = server->next) {
        stats->callbacks_invoked += rtrcu_load_relaxed(&server->invoked);
        stats->callbacks_queued += cbqueue_enqueued(&server->queue);
        uint64_t oldest_ns = (uint64_t)oldest_of(server);
        if (oldest_ns && (!stats->callback_oldest_ns || oldest_ns < stats->callback_oldest_ns))
            stats->callback_oldest_ns = oldest_ns;
    }
    lock_release(&adopted->servers_lock);

    for (const struct adopt_ring *ring = rtrcu_load_acquire(&adopted->rings); ring; ring = ring->next) {
        stats->callbacks_invoked += rtrcu_load_relaxed(&ring->taken);
        stats->callbacks_queued += rtrcu_load_relaxed(&ring->pushed);
    }

    stats->callbacks_backlog = stats->callbacks_queued - stats->callbacks_invoked;
}

static void count_readers(struct rtrcu_adopted *adopted, struct rtrcu_stats *stats)
{
    struct urcu_chunk *chunk = NULL;
    const struct adopt_record *record;
    for (uint32_t at; (record = urcu_next_record(adopted, &chunk, &at));)
        stats->threads_registered += rtrcu_load_relaxed(&record->reader) != NULL;
}

void urcu_stats(struct rtrcu_adopted *adopted, struct rtrcu_stats *stats)
{
    const struct rtrcu_adopt_flavour *flavour = &adopted->flavour;
    stats->full_fences = flavour->kind == RTRCU_ADOPT_MB || (flavour->light && rtrcu_load_relaxed(flavour->light) == 0);
    stats->gp_completed = rtrcu_load_relaxed(&adopted->completed);
    stats->gp_busy = rtrcu_load_relaxed(&adopted->busy);
    stats->gp_ns_max = (uint64_t)rtrcu_load_relaxed(&adopted->longest_ns);
    stats->stall_reports = rtrcu_load_relaxed(&adopted->stalls);
    stats->over_qmax = rtrcu_load_relaxed(&adopted->over_qmax);
    stats->blocked_at_qmax = rtrcu_load_relaxed(&adopted->blocked);
    stats->callbacks_lost_at_fork = adopted->lost_at_fork;
    count_callbacks(adopted, stats);
    count_readers(adopted, stats);
}

void urcu_print(struct rtrcu_adopted *adopted)
{
    struct rtrcu_stats stats = {0};
    urcu_stats(adopted, &stats);
    plat_print(
        "rtrcu: %s: %llu grace periods, %llu of them waited for readers, the longest %llu us, %llu stalls reported;"
        " %llu callbacks queued, %llu run, %llu queued above qmax, %llu waited at qmax, server priority raised %llu "
        "times\n",
        adopted->flavour.name, (unsigned long long)stats.gp_completed, (unsigned long long)stats.gp_busy,
        (unsigned long long)stats.gp_ns_max / 1000, (unsigned long long)stats.stall_reports,
        (unsigned long long)stats.callbacks_queued, (unsigned long long)stats.callbacks_invoked,
        (unsigned long long)stats.over_qmax, (unsigned long long)stats.blocked_at_qmax,
        (unsigned long long)rtrcu_load_relaxed(&adopted->lifts));
}

/* ---- fields that other processes read ---- */

static const struct inspect_field fields[] = {
    INSPECT_FIELD("adopt.first", struct urcu, first),
    INSPECT_FIELD("adopted.next", struct rtrcu_adopted, next),
    INSPECT_FIELD("adopted.name", struct rtrcu_adopted, flavour.name),
    INSPECT_FIELD("adopted.light", struct rtrcu_adopted, flavour.light),
    INSPECT_FIELD("adopted.kind", struct rtrcu_adopted, kind),
    INSPECT_FIELD("adopted.seq", struct rtrcu_adopted, seq),
    INSPECT_FIELD("adopted.began_ns", struct rtrcu_adopted, began_ns),
    INSPECT_FIELD("adopted.waiters", struct rtrcu_adopted, waiters),
    INSPECT_FIELD("adopted.completed", struct rtrcu_adopted, completed),
    INSPECT_FIELD("adopted.busy", struct rtrcu_adopted, busy),
    INSPECT_FIELD("adopted.longest_ns", struct rtrcu_adopted, longest_ns),
    INSPECT_FIELD("adopted.stalls", struct rtrcu_adopted, stalls),
    INSPECT_FIELD("adopted.over_qmax", struct rtrcu_adopted, over_qmax),
    INSPECT_FIELD("adopted.blocked", struct rtrcu_adopted, blocked),
    INSPECT_FIELD("adopted.barriers", struct rtrcu_adopted, barriers),
    INSPECT_FIELD("adopted.threads_refused", struct rtrcu_adopted, threads_refused),
    INSPECT_FIELD("adopted.invoked_by_gone", struct rtrcu_adopted, invoked_by_gone),
    INSPECT_FIELD("adopted.chunk", struct rtrcu_adopted, first),
    INSPECT_FIELD("adopted.servers", struct rtrcu_adopted, servers),
    INSPECT_FIELD("kind.inside", struct urcu_kind, inside),
    INSPECT_FIELD("kind.section", struct urcu_kind, section),
    INSPECT_FIELD("chunk.next", struct urcu_chunk, next),
    INSPECT_ARRAY("chunk.record", struct urcu_chunk, record),
    INSPECT_FIELD("adopt_record.reader", struct adopt_record, reader),
    INSPECT_FIELD("adopt_record.thread_id", struct adopt_record, thread_id),
    INSPECT_FIELD("adopt_record.owes", struct adopt_record, is_holdout),
    INSPECT_FIELD("adopted_reader.word", struct rtrcu_adopted_reader, word),
    INSPECT_FIELD("adopted.rings", struct rtrcu_adopted, rings),
    INSPECT_FIELD("ring.next", struct adopt_ring, next),
    INSPECT_FIELD("ring.pushed", struct adopt_ring, pushed),
    INSPECT_FIELD("ring.taken", struct adopt_ring, taken),
    INSPECT_FIELD("server.next", struct adopt_server, next),
    INSPECT_FIELD("server.queue", struct adopt_server, queue),
    INSPECT_FIELD("server.invoked", struct adopt_server, invoked),
    INSPECT_FIELD("server.thread_id", struct adopt_server, thread_id),
    INSPECT_FIELD("server.serving", struct adopt_server, serving),
    INSPECT_FIELD("server.function", struct adopt_server, function),
    INSPECT_FIELD("server.batch_ns", struct adopt_server, batch_ns),
    INSPECT_FIELD("server.inbox_ns", struct adopt_server, inbox_ns),
};

const struct inspect_table urcu_inspect_table = INSPECT_TABLE(fields);

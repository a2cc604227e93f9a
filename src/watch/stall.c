/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The stall report: a grace period that does not end, its holdouts, and the callbacks that wait for it.
 *
 * The holder of the gp lock gathers the report as plain data.  A thread that holds no lock prints it, line by line, to
 * the handler that the program set, or to standard error.
 * tested by: test/api/stall.cc
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "watch/watch.h"

void watch_init(struct watch *watch, const struct config *config, struct gp *gp, struct callback *cb)
{
    *watch = (struct watch){.config = config, .registry = gp_registry(gp), .gp = gp, .cb = cb};
    lock_init(&watch->lock, LOCK_RANK_REPORT);
}

void watch_after_fork_child(struct watch *watch)
{
    lock_reset(&watch->lock);
    for (int subject = 0; subject < WATCH_SUBJECTS; subject++)
        watch->waits[subject] = false;
}

void watch_set_handler(struct watch *watch, void (*handler)(const char *line))
{
    rtrcu_store_release(&watch->handler, handler);
}

int64_t watch_next_report(const struct watch *watch, int64_t previous)
{
    if (config_now(watch->config)->stall_timeout_ms == 0)
        return INT64_MAX;
    return previous ? previous * 3 : config_now(watch->config)->stall_timeout_ms * 1000000;
}

/* ---- gathering: under the gp lock ---- */

static void add_task(struct watch_report *report, const char *name)
{
    if (report->tasks < WATCH_TASKS_NAMED)
        snprintf(report->task[report->tasks], WATCH_TASK_NAME, "%s", name ? name : "");
    report->tasks++;
}

static void add_reader(struct watch_report *report, const struct reader_record *record)
{
    if (report->readers < WATCH_READERS_NAMED)
        report->reader[report->readers] = (struct watch_reader){.thread = reader_thread_id(record),
                                                                .inside = reader_inside(record),
                                                                .boosted = reader_is_boosted(record),
                                                                .waits = reader_waits(record),
                                                                .entered = reader_entered(record)};
    report->readers++;
}

/* Add the holdouts of a leaf to the report.  Tasks are promoted first, so that a task that has only just parked is
 * listed as a task. */
static void add_leaf(struct watch *watch, struct watch_report *report, struct reader_leaf *leaf)
{
    struct reader_record *record;

    reader_lock(leaf);

    uint32_t left = gp_holdouts(watch->gp, report->subject, leaf) & reader_registered(leaf);
    while ((record = reader_next(leaf, &left))) {
        gp_promote(watch->gp, record);
        add_reader(report, record);
    }

    struct rcu_task *task = parked_first_waited_for(leaf, report->subject);
    for (; task; task = parked_next(leaf, task)) /* ends after at most the tasks parked here */
        add_task(report, task->name);
    reader_unlock(leaf);
}

/* Take a snapshot of each listed reader now: by the time the report is printed, a reader may be doing something
 * else.  Skip the calling thread: its snapshot would only show this function. */
static void snapshot_readers(struct watch_report *report)
{
    for (uint32_t i = 0; i < report->readers && i < WATCH_READERS_NAMED; i++) {
        struct watch_reader *reader = &report->reader[i];
        plat_thread_name(reader->thread, reader->name, sizeof(reader->name));
        if (plat_tid_is(reader->thread, lock_thread_id()))
            reader->snapshot = (struct plat_thread_snapshot){.state = 'R', .call = -1};
        else
            plat_thread_snapshot(reader->thread, &reader->snapshot);
    }
}

/* Count and store a report.  The count precedes the printing, which may block, and includes a report that is dropped
 * because an earlier report still waits. */
static void store_report(struct watch *watch, const struct watch_report *report)
{
    counter_add(&watch->stall_reports, 1);
    lock_acquire(&watch->lock);

    if (!watch->waits[report->subject]) {
        watch->waiting[report->subject] = *report;
        watch->waits[report->subject] = true;
    }
    lock_release(&watch->lock);
}

static void begin(const struct watch *watch, enum gp_kind kind, struct watch_report *report)
{
    memset(report, 0, sizeof(*report));
    report->subject = kind;
    report->number = (gp_seq(watch->gp, kind) - SEQ_FIRST) / SEQ_STEP;
    report->advancer = lock_thread_id();
}

void watch_stall_gather(struct watch *watch, enum gp_kind kind, int64_t now)
{
    struct watch_report report;

    begin(watch, kind, &report);
    report.age_ms = (now - gp_began_ns(watch->gp, kind)) / 1000000;

    for (struct reader_leaf *leaf = NULL; (leaf = gp_next_holdout_leaf(watch->gp, kind, leaf));)
        add_leaf(watch, &report, leaf);
    report.anonymous = gp_holdouts_anonymous(watch->gp, kind);

    snapshot_readers(&report);
    trace4(stall, watch->gp, kind, report.age_ms, report.readers + report.tasks);
    store_report(watch, &report);
}

void watch_fence_gather(struct watch *watch, enum gp_kind kind, int error)
{
    struct watch_report report;
    begin(watch, kind, &report);
    report.fence_error = error;
    store_report(watch, &report);
}

void watch_visit_gather(struct watch *watch, struct plat_tid visitor, uint32_t cpu, int64_t age_ns)
{
    struct watch_report report;

    memset(&report, 0, sizeof(report));
    report.subject = WATCH_VISIT;
    report.age_ms = age_ns / 1000000;
    report.advancer = visitor;
    report.cpu = cpu;

    store_report(watch, &report);
}

/* Add @record's queue to the report.  Values are read one by one, and may not match if the queue changes meanwhile; a
 * stuck queue does not change. */
static void add_queue(struct watch_report *report, const struct reader_record *record)
{
    if (report->queues++ >= WATCH_QUEUES_NAMED)
        return;

    struct watch_queue *queue = &report->queue[report->queues - 1];
    queue->owner = reader_thread_id(record);
    callback_barrier_read(record, &queue->view);
}

void watch_barrier_gather(struct watch *watch, int64_t age_ns)
{
    struct watch_report report;

    memset(&report, 0, sizeof(report));
    report.subject = WATCH_BARRIER;
    report.age_ms = age_ns / 1000000;

    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_leaf(watch->registry, leaf));) {
        struct reader_record *record;
        for (uint32_t left = READER_ALL_SLOTS; (record = reader_next(leaf, &left));) {
            if (callback_barrier_left(record))
                add_queue(&report, record);
        }
    }

    if (report.queues)
        store_report(watch, &report);
}

/* ---- printing: with no lock held ---- */

/* Where and how a report is printed. */
struct sink {
    void (*handler)(const char *line); /* NULL: standard error */
    bool may_wait;                     /* may the caller wait for standard error, and for the loader's lock? */
};

static void call_handler(void (*handler)(const char *line), const char *line)
{
    CALL_PROGRAM();
    handler(line);
}

static void __attribute__((format(printf, 2, 3))) print(const struct sink *sink, const char *format, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);

    if (sink->handler)
        call_handler(sink->handler, text);
    else if (sink->may_wait)
        plat_write(text);
    else
        plat_print("%s", text);
}

static void name_code(const struct sink *sink, uintptr_t address, char *text, size_t size)
{
    if (sink->may_wait)
        plat_symbol(address, text, size);
    else
        (void)plat_code(address, text, size);
}

static const char *state_name(char state)
{
    switch (state) {
    case 'R':
        return "runnable";
    case 'S':
        return "asleep";
    case 'D':
        return "in uninterruptible sleep";
    case 'T':
        return "stopped by a signal";
    case 't':
        return "stopped by a debugger";
    case 'Z':
    case 'X':
        return "dead";
    default:
        return "in an unknown state";
    }
}

/* Print the call in which the reader is, and its call site. */
static void print_place(const struct sink *sink, const struct watch_reader *reader)
{
    char where[160] = "";
    const struct plat_thread_snapshot *snapshot = &reader->snapshot;

    if (reader->waits.name) {
        name_code(sink, reader->waits.from, where, sizeof(where));
        print(sink, "rtrcu:     it waits for itself in %s(), which it called inside that section at %s\n",
              reader->waits.name, where);
    } else if (snapshot->call >= 0) {
        if (snapshot->address)
            name_code(sink, snapshot->address, where, sizeof(where));
        print(sink, "rtrcu:     in system call %ld at %s%s\n", snapshot->call, where,
              reader->inside & RTRCU_QSBR_ONLINE ? ": it went to sleep without rcu_thread_offline()" : "");
    }
}

static void print_reader(const struct sink *sink, const struct watch_reader *reader)
{
    char began[160] = "";
    bool discipline = reader->inside & RTRCU_QSBR_ONLINE;

    print(sink, "rtrcu:   thread %u \"%s\": %s, nesting %u, %s%s\n", reader->thread.number, reader->name,
          discipline ? "quiescent-state discipline, online, has not called rcu_quiescent_state()"
                     : "preemptible, inside a read-side critical section",
          reader->inside & RTRCU_NESTING_MASK, state_name(reader->snapshot.state),
          reader->boosted ? ", is boosted" : "");
    print_place(sink, reader);

    if (reader->entered) {
        name_code(sink, reader->entered, began, sizeof(began));
        print(sink, "rtrcu:     its section began at %s\n", began);
    }
}

static void print_stall(const struct watch *watch, const struct sink *sink, const struct watch_report *report)
{
    struct rtrcu_stats stats = {.size = sizeof(stats)};

    print(sink, "rtrcu: %s grace period %llu has not ended for %lld ms (advanced by thread %u); it waits for:\n",
          report->subject == GP_NORMAL ? "normal" : "expedited", (unsigned long long)report->number,
          (long long)report->age_ms, report->advancer.number);

    for (uint32_t i = 0; i < report->readers && i < WATCH_READERS_NAMED; i++)
        print_reader(sink, &report->reader[i]);
    if (report->readers > WATCH_READERS_NAMED)
        print(sink, "rtrcu:   and %u more threads\n", report->readers - WATCH_READERS_NAMED);

    for (uint32_t i = 0; i < report->tasks && i < WATCH_TASKS_NAMED; i++)
        print(sink, "rtrcu:   task \"%s\": parked inside a read-side critical section\n", report->task[i]);
    if (report->tasks > WATCH_TASKS_NAMED)
        print(sink, "rtrcu:   and %u parked tasks more\n", report->tasks - WATCH_TASKS_NAMED);

    if (report->anonymous)
        print(sink, "rtrcu:   %u threads without a record (exiting, or no memory) inside sections\n",
              report->anonymous);

    watch_stats(watch, &stats);
    print(sink, "rtrcu:   callbacks that wait for it: %llu%s\n", (unsigned long long)stats.callbacks_backlog,
          callback_bound_is_exceeded(watch->cb) ? ", more than qmax_process: backpressure acts" : "");
}

static void print_barrier(const struct sink *sink, const struct watch_report *report)
{
    print(sink, "rtrcu: rcu_barrier() has waited for %lld ms:\n", (long long)report->age_ms);

    for (uint32_t i = 0; i < report->queues && i < WATCH_QUEUES_NAMED; i++) {
        const struct watch_queue *queue = &report->queue[i];
        char function[160] = "";

        if (queue->view.running)
            name_code(sink, queue->view.running, function, sizeof(function));

        print(sink, "rtrcu:   for %llu callbacks and frees of thread %u\n", (unsigned long long)queue->view.left,
              queue->owner.number);
        if (!plat_tid_is_nobody(queue->view.invoker))
            print(sink, "rtrcu:     thread %u invokes them%s%s\n", queue->view.invoker.number,
                  queue->view.running ? ", and runs or has just run " : "", function);
    }

    if (report->queues > WATCH_QUEUES_NAMED)
        print(sink, "rtrcu:   and for callbacks of %u more threads\n", report->queues - WATCH_QUEUES_NAMED);
}

static void print_fence(const struct sink *sink, const struct watch_report *report)
{
    print(sink,
          "rtrcu: grace periods cannot end: the kernel refuses membarrier() (error %d) and no other fence reaches all"
          " threads yet; set RTRCU_MEMBARRIER=off at start where a sandbox forbids it\n",
          -report->fence_error);
}

static void print_visit(const struct sink *sink, const struct watch_report *report)
{
    print(sink,
          "rtrcu: grace periods cannot end: the kernel refuses membarrier(), and thread %u, which must run on every"
          " CPU instead, has tried for %lld ms and cannot run on CPU %u; a real-time thread may occupy that CPU\n",
          report->advancer.number, (long long)report->age_ms, report->cpu);
}

static bool take(struct watch *watch, struct watch_report *report)
{
    bool found = false;

    lock_acquire(&watch->lock);
    for (int subject = 0; subject < WATCH_SUBJECTS && !found; subject++) {
        if (!watch->waits[subject])
            continue;

        *report = watch->waiting[subject];
        watch->waits[subject] = false;
        found = true;
    }
    lock_release(&watch->lock);

    return found;
}

static bool print_one(struct watch *watch, const struct sink *sink)
{
    struct watch_report report;

    if (!take(watch, &report))
        return false;

    if (report.subject == WATCH_BARRIER)
        print_barrier(sink, &report);
    else if (report.subject == WATCH_VISIT)
        print_visit(sink, &report);
    else if (report.fence_error)
        print_fence(sink, &report);
    else
        print_stall(watch, sink, &report);
    return true;
}

bool watch_report_print(struct watch *watch)
{
    struct sink sink = {.handler = rtrcu_load_acquire(&watch->handler), .may_wait = true};
    return print_one(watch, &sink);
}

void watch_report_print_here(struct watch *watch)
{
    static const struct sink sink = {0};
    while (print_one(watch, &sink)) /* ends after at most one report per subject */
        ;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stall reports and statistics.
 *
 * Knows: grace periods, records, callbacks (it reads their counters).  Must not know: drivers.
 * States: a stall is reported when a grace period is stall_timeout_ms old, then at three times the age each time.
 * Locks: its own, for reports that wait to be printed; leaf locks, while one leaf's words are read.
 */
#ifndef RTRCU_WATCH_WATCH_H
#define RTRCU_WATCH_WATCH_H

#include "callback/callback.h"

#define WATCH_READERS_NAMED 64
#define WATCH_TASKS_NAMED 8
#define WATCH_TASK_NAME 48
#define WATCH_QUEUES_NAMED 8

/* Subjects of a report: a grace period of either kind, rcu_barrier(), and a visit to every CPU. */
enum { WATCH_BARRIER = GP_KINDS, WATCH_VISIT, WATCH_SUBJECTS };

/* One reader in a report. */
struct watch_reader {
    struct plat_tid thread;
    uint32_t inside, boosted;
    uintptr_t entered;
    struct reader_call waits;             /* call that waits for the end of the reader's own section; name NULL:
                                             the reader is in no such call */
    struct plat_thread_snapshot snapshot; /* the thread's state when the report was gathered */
    char name[32];
};

/* One queue in a report of rcu_barrier(). */
struct watch_queue {
    struct plat_tid owner; /* PLAT_NOBODY = the queue of the shared record */
    struct callback_barrier_view view;
};

/* A report as plain data: gathered under the gp lock, printed by a thread that holds no lock. */
struct watch_report {
    uint32_t subject;
    /* WATCH_BARRIER: the number of queues that rcu_barrier() waits for, which may exceed that of the listed queues; of
     * the fields below `queue` only the age is valid. */
    uint32_t queues;
    struct watch_queue queue[WATCH_QUEUES_NAMED];
    int fence_error;          /* not 0: no fence is available, and nothing below is valid */
    uint64_t number;          /* number of the grace period */
    int64_t age_ms;           /* since the beginning of the grace period, of the wait or of the visit */
    struct plat_tid advancer; /* the thread that holds the gp lock, or that visits the CPUs */
    uint32_t cpu;             /* WATCH_VISIT: the CPU on which the visitor cannot run; of the other fields only the age
                                 and advancer are valid */
    uint32_t readers, tasks;  /* numbers of holdouts; may exceed the lengths of the lists below */
    uint32_t anonymous;       /* number of readers without a record among them */
    struct watch_reader reader[WATCH_READERS_NAMED];
    char task[WATCH_TASKS_NAMED][WATCH_TASK_NAME];
};

struct watch {
    const struct config *config;
    struct reader_registry *registry;
    struct gp *gp;
    struct callback *cb;
    void (*handler)(const char *line); /* atomic: receives reports, NULL = standard error */
    struct counter stall_reports;      /* reports gathered so far */
    uint64_t section_ns_max;           /* atomic: longest section in programs built with RTRCU_DEBUG */
    uintptr_t section_longest;         /* atomic: where that section began */
    struct lock lock;                  /* guards the two fields below; held while one report is copied */
    bool waits[WATCH_SUBJECTS];        /* a report waits to be printed */
    struct watch_report waiting[WATCH_SUBJECTS];
};

void watch_init(struct watch *watch, const struct config *config, struct gp *gp, struct callback *cb);
/* In a fork's child: drop gathered reports, which the parent prints. */
void watch_after_fork_child(struct watch *watch);

/* Send reports to @handler from now on; NULL = standard error. */
void watch_set_handler(struct watch *watch, void (*handler)(const char *line));
static inline bool watch_has_handler(const struct watch *watch)
{
    return rtrcu_load_relaxed(&watch->handler) != NULL;
}

/* Is the backlog of @record's thread at the limit at which backpressure acts? */
static inline bool watch_sees_full(const struct watch *watch, const struct reader_record *record)
{
    return callback_is_full(watch->cb, record);
}

/* Age in nanoseconds at which the next report is due; @previous: the age of the last report, 0 = none so far. */
int64_t watch_next_report(const struct watch *watch, int64_t previous);

/* Gather the holdouts of the grace period of @kind, or the fact that this grace period makes no progress for lack of a
 * fence.  Under the gp lock of @kind; takes leaf locks briefly.  Gathers nothing while an earlier report on @kind still
 * waits to be printed. */
void watch_stall_gather(struct watch *watch, enum gp_kind kind, int64_t now);
void watch_fence_gather(struct watch *watch, enum gp_kind kind, int error);
/* Gather the queues for which rcu_barrier() has been waiting for @age_ns.  Under the barrier lock. */
void watch_barrier_gather(struct watch *watch, int64_t age_ns);
/* Gather that thread @visitor has been visiting CPUs for @age_ns, and is to run on @cpu next. */
void watch_visit_gather(struct watch *watch, struct plat_tid visitor, uint32_t cpu, int64_t age_ns);
/* Print one waiting report to the program's handler, or to standard error.  The handler or the write may block, and
 * symbol lookup waits for the loader's lock, so the caller holds no lock.  False if no report waits. */
bool watch_report_print(struct watch *watch);
/* Print all waiting reports in the calling thread, since no thread can be created to print them: to standard error
 * only, without symbols, and only as far as writing does not block.  The caller holds no lock that readers or grace
 * periods need, since the file may be slow. */
void watch_report_print_here(struct watch *watch);

/* Record that a section that began at @entered has taken @ns.  If two sections of record length end at the same time,
 * the time of one section and the place of the other may be kept. */
void watch_note_section(struct watch *watch, uint64_t ns, uintptr_t entered);

/* Fields that this room shows to other processes. */
extern const struct inspect_table watch_inspect_table;
/* Fill in the part of @stats that this room and the rooms below know. */
void watch_stats(const struct watch *watch, struct rtrcu_stats *stats);

#endif

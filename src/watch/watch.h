/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Watching: grace periods that do not end, and the counters.
 *
 * Knows: grace periods, records, callbacks (it reads their counters).  Must not know: drivers.
 * States: a stall is reported when a grace period is stall_timeout_ms old, then at three times the age each time.
 * Locks: its own, for the reports that wait to be said; leaf locks, for the moment in which a leaf's words are read.
 */
#ifndef RTRCU_WATCH_WATCH_H
#define RTRCU_WATCH_WATCH_H

#include "callback/callback.h"

#define WATCH_READERS_NAMED 64
#define WATCH_TASKS_NAMED 8
#define WATCH_TASK_NAME 48
#define WATCH_QUEUES_NAMED 8

/* What can be reported: a grace period of either kind, rcu_barrier(), and a visit to every CPU. */
enum { WATCH_BARRIER = GP_KINDS, WATCH_VISIT, WATCH_SUBJECTS };

/* What is said of one reader. */
struct watch_reader {
    struct plat_tid thread;
    uint32_t inside, boosted;
    uintptr_t entered;
    struct reader_call waits;             /* for itself, in that call; no name: it does not */
    struct plat_thread_snapshot snapshot; /* what it was doing */
    char name[32];
};

/* What is said of one queue that rcu_barrier() waits for. */
struct watch_queue {
    struct plat_tid owner; /* nobody = it has none */
    struct callback_barrier_view view;
};

/* A report as plain data: gathered under the crank, said by a thread that holds nothing. */
struct watch_report {
    uint32_t subject;
    /* WATCH_BARRIER: how many queues it waits for, perhaps more than are named; below, the age alone holds. */
    uint32_t queues;
    struct watch_queue queue[WATCH_QUEUES_NAMED];
    int fence_error;          /* not 0: no fence is to be had, and nothing below holds */
    uint64_t number;          /* of the grace period */
    int64_t age_ms;           /* of it */
    struct plat_tid advancer; /* the thread that turns its crank, or visits */
    uint32_t cpu;             /* WATCH_VISIT: where it has not come to run; nothing else holds but the age and who */
    uint32_t readers, tasks;  /* in its way; more, perhaps, than are named */
    uint32_t anonymous;       /* readers without a record, if it waits for them */
    struct watch_reader reader[WATCH_READERS_NAMED];
    char task[WATCH_TASKS_NAMED][WATCH_TASK_NAME];
};

struct watch {
    const struct config *config;
    struct reader_registry *registry;
    struct gp *gp;
    struct callback *cb;
    void (*handler)(const char *line); /* atomic: where reports go, NULL = standard error */
    struct counter stall_reports;      /* that have been gathered */
    uint64_t section_ns_max;           /* atomic: the longest section of programs built with RTRCU_DEBUG */
    uintptr_t section_longest;         /* atomic: where it began */
    struct lock lock;                  /* the two below; held while one report is copied */
    bool waits[WATCH_SUBJECTS];        /* a report is there */
    struct watch_report waiting[WATCH_SUBJECTS];
};

void watch_init(struct watch *watch, const struct config *config, struct gp *gp, struct callback *cb);
/* In a fork's child: what was gathered is the parent's to say. */
void watch_after_fork_child(struct watch *watch);

/* Where reports go from now on; NULL = standard error. */
void watch_set_handler(struct watch *watch, void (*handler)(const char *line));
static inline bool watch_has_handler(const struct watch *watch)
{
    return rtrcu_load_relaxed(&watch->handler) != NULL;
}

/* How old what is reported may become before the next report, nanoseconds; @previous 0 for the first. */
int64_t watch_next_report(const struct watch *watch, int64_t previous);

/* Gather who is in the way of the grace period of @kind, or that it stands still since no fence is to be had.  Under
 * its crank; takes leaf locks, shortly.  Nothing is gathered while an earlier report of its kind still waits to be
 * said. */
void watch_stall_gather(struct watch *watch, enum gp_kind kind, int64_t now);
void watch_fence_gather(struct watch *watch, enum gp_kind kind, int error);
/* Gather which queues rcu_barrier() has been waiting for, for @age_ns by now.  Under the barrier lock. */
void watch_barrier_gather(struct watch *watch, int64_t age_ns);
/* Gather that thread @visitor has been on its way to every CPU for @age_ns, and is to run on @cpu next. */
void watch_visit_gather(struct watch *watch, struct plat_tid visitor, uint32_t cpu, int64_t age_ns);
/* Say one report that waits: to the program's handler, or to standard error.  Both may wait as long as they like, and
 * looking for symbols waits for the loader's lock: so the caller holds nothing.  False if none waits. */
bool watch_report_print(struct watch *watch);
/* The same, all that wait, where no thread can be had for it: to standard error alone, without symbols, and not at all
 * where that would wait.  The caller holds no lock that readers or grace periods need: a file may be slow. */
void watch_report_print_here(struct watch *watch);

/* A section that began at @entered has taken @ns.  Where two end at once that are longer than all before, either's time
 * and either's place may stay. */
void watch_note_section(struct watch *watch, uint64_t ns, uintptr_t entered);

/* What this room tells other processes. */
extern const struct inspect_table watch_inspect_table;
/* Fill in everything of @stats that the rooms below know. */
void watch_stats(const struct watch *watch, struct rtrcu_stats *stats);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Serving callbacks: to whom ready ones go, the daemons that run them, and who waits for them.
 *
 * Knows: callbacks, turning a grace period, threads of the library.  Must not know: what drivers do beside it.
 *
 * Locks: the barrier lock, one rcu_barrier() at a time; each daemon's, for its list of queues.
 *
 * INV-DR1: a record is on at most one daemon's list (its `listed` word is the claim).
 */
#ifndef RTRCU_SERVE_SERVE_H
#define RTRCU_SERVE_SERVE_H

#include "turn/turn.h"

struct serve;

struct serve_daemon {
    struct lock lock;
    struct reader_record *first; /* atomic: queues to serve; written under the lock */
    struct reader_record *last;  /* under the lock */
    uint32_t serving;            /* invokers at work; under the lock */
    int64_t held_off_ns;         /* since when forks keep it from its next batch, 0 = they do not; under the lock */
    struct work_thread thread;
    uint32_t cpu;
    struct reader_record *served;        /* of its thread: the queue that has its turn, NULL = none */
    uint32_t generation;                 /* of its thread: in which that turn began */
    bool lifted;                         /* of its thread */
    const struct rtrcu_config *settings; /* that its thread was made by */
    struct serve *serve;
};

/* Forks of the process: they hold invokers off, and a child begins anew. */
struct serve_fork {
    struct work_pause pause;
    struct counter given_up; /* callbacks that have not returned in time */
    uint32_t generation;     /* forks since the first ancestor; written in a child before it has a second thread */
};

/* What this room keeps of one thread. */
struct serve_slot {
    struct reader_record *next_ready; /* a daemon's list of queues; under that daemon's lock */
    uint32_t listed;                  /* atomic: on a daemon's list or being served */
};

struct serve_leaf {
    struct serve_slot slot[READER_FANOUT];
};

void serve_leaf_init(struct serve_leaf *part, struct reader_leaf *leaf);

static inline struct serve_slot *serve_slot(const struct reader_record *record)
{
    struct serve_leaf *part = (struct serve_leaf *)reader_part(reader_leaf_of(record), READER_SERVE);
    return &part->slot[reader_slot(record)];
}

struct serve {
    const struct config *config;
    struct reader_registry *registry;
    struct callback *cb;
    struct watch *watch;
    struct work *work;
    struct turn *turn;
    struct lock barrier_lock; /* one rcu_barrier() at a time; held while it waits */
    /* Every batch looks at these, and few write them. */
    uint32_t progress __attribute__((aligned(BASE_CACHE_LINE))); /* atomic: futex: counts batches while some wait */
    struct tally progress_waiters;
    struct serve_fork fork;
    struct counter krcud_given;
    struct serve_daemon aside; /* of invocations outside daemons; has neither list nor thread */
    struct serve_daemon daemon[PLAT_CPU_MAX];
};

/* What this room tells other processes, where it lies in @type as @at. */
#define SERVE_INSPECT(type, at) INSPECT_FIELD("drive.krcud_given", type, at.krcud_given)

/* ---- the beginning, and counters: init.c ---- */

void serve_init(struct serve *serve, const struct config *config, struct callback *cb, struct watch *watch,
                struct work *work, struct turn *turn);
void serve_stats(const struct serve *serve, struct rtrcu_stats *stats);

/* ---- fork: fork.c ---- */

/* Is an invoker of ours inside a callback? */
bool serve_is_invoking(struct serve *serve);
/* Before fork: no invoker of ours is inside a callback afterwards, as far as it returns within fork_wait_us, and nobody
 * moves callbacks from one stage to the next. */
void serve_before_fork(struct serve *serve);
void serve_after_fork_parent(struct serve *serve);
void serve_after_fork_child(struct serve *serve, struct plat_tid old_thread_id);
/* In a torn child, whose thread may wait: its wait ends. */
void serve_end_waits(struct serve *serve);

/* Value: what a thread may run of callbacks that are a daemon's, where no daemon may be or can be had. */
struct serve_call_budget {
    int64_t ns;       /* for so long; 0 = nothing, PLAT_FOREVER = a whole turn of each queue */
    int64_t spent_ns; /* it took so long; not counted where there is no limit */
    bool left;        /* there is more */
};

/* ---- ready callbacks: dispatch.c ---- */

/* Hand ready callbacks to daemons, or run them here where no daemon may be.  True if some wait for their owner. */
bool serve_dispatch(struct serve *serve);
/* The same, and no more is run here than @share allows. */
bool serve_dispatch_within(struct serve *serve, struct serve_call_budget *call_budget);
/* The CPU whose daemon serves @record: where its owner runs, if the library's threads may run there.  Under the leaf
 * lock, or by the owner. */
uint32_t serve_cpu_of(const struct serve *serve, const struct reader_record *record);

/* ---- daemons: daemon.c ---- */

/* The thread of @record is gone: its slot is let go, once nothing of it is queued or served. */
void serve_release_slot(struct reader_record *record);
/* One turn of @record's queue in the calling thread. */
void serve_in_call(struct serve *serve, struct reader_record *record, struct serve_call_budget *call_budget);
/* Put @record on the list of @cpu's daemon, in front if @urgent; makes the daemon, or takes another that runs.  False:
 * there is none, and none can be made now. */
bool serve_daemon_enqueue(struct serve *serve, struct reader_record *record, uint32_t cpu, bool urgent);
/* Make the daemons of all CPUs where the library's threads may run.  0 or -errno. */
int serve_daemon_start_all(struct serve *serve, const struct rtrcu_config *settings,
                           const struct plat_thread_attr *attr);

/* ---- waiting for callbacks: barrier.c ---- */

void serve_barrier(struct serve *serve);
/* backpressure=block: wait until @record's backlog is below qmax, or has not moved for 100 ms; not where the calling
 * thread may be waited for itself.  Runs no callback.  False: it is not below. */
bool serve_wait_below_qmax(struct serve *serve, struct reader_record *record);
/* Wait until fewer than @limit of @record's callbacks are pending, 100 ms at most; as above. */
void serve_wait_for_backlog(struct serve *serve, const struct reader_record *record, uint64_t limit);

/* ---- batches that have been invoked: progress.c ---- */

/* A batch has been invoked: wake the threads that wait for one. */
void serve_progress(struct serve *serve);
/* Wait for a batch, unless @reached; at most a tick, and @longest_ns. */
void serve_progress_wait(struct serve *serve, bool (*reached)(struct serve *, void *), void *argument,
                         int64_t longest_ns);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Serving callbacks: which thread invokes ready ones, the daemons, and the threads that wait for callbacks.
 *
 * Knows: callbacks, advancing grace periods, threads of the library.  Must not know: other tasks of drivers.
 *
 * Locks: the barrier lock, one rcu_barrier() at a time; each daemon's lock, for its list of queues; each slot's lock,
 * so that its ready descriptor is not closed while a thread sets it.
 *
 * INV-DR1: a record is on at most one daemon's list (its `listed` word is the claim).
 */
#ifndef RTRCU_SERVE_SERVE_H
#define RTRCU_SERVE_SERVE_H

#include "turn/turn.h"

struct serve;

/* A daemon: a thread, and a list of queues.  Each CPU may have two: the second, the relief, serves the list of
 * the first while the first is inside a callback that does not return. */
struct serve_daemon {
    struct serve_daemon *list; /* the daemon whose list this daemon serves; constant once it has a thread */
    struct lock lock;
    struct reader_record *first; /* atomic: first queue to serve; written under the lock */
    struct reader_record *last;  /* under the lock */
    uint32_t serving;            /* threads that invoke callbacks; under the lock */
    int64_t held_off_ns;         /* time since which forks have kept the daemon from its next batch, 0 = no fork does;
                                    under the lock */
    struct work_thread thread;
    struct work_rt_thread rt;
    uint32_t cpu;
    struct reader_record *served;      /* atomic: the queue being served, NULL = none; written by its thread */
    struct reader_record *seen_served; /* value of `served` when the driver last checked for progress; under the
                                            list's lock */
    uint64_t seen_returned;            /* callbacks of that queue that had returned by then; under the list's lock */
    int64_t seen_since_ns;             /* time since which the two values above are unchanged; under the list's lock */
    bool reported;       /* relief only: a report that the relief is stuck too was printed; under the list's lock */
    uint32_t generation; /* fork.generation at the beginning of the last batch; used by the daemon's thread */
    bool lifted;         /* the daemon's thread runs with the nice value for a flood */
    const struct rtrcu_config *settings; /* settings with which its thread was made */
    struct serve *serve;
};

/* State for forks: the pause of invokers, and the number of forks. */
struct serve_fork {
    struct work_pause pause;
    struct counter given_up; /* forks that stopped waiting for a callback after fork_wait_us */
    uint32_t generation;     /* forks since the first ancestor; written in a child before it has a second thread */
};

/* A thread's ready descriptor: an event that is set while ready callbacks wait for their owner.  Its states, and the
 * thread that changes them; a setter is a thread that dispatches, or the owner:
 *
 *  before   transition       after
 *  QUIET    begin_setting()  SETTING  by a setter, which then sets the event
 *  SETTING  end_setting()    SET      by the setter
 *  SETTING  take()           TAKEN    by the owner: it has run the callbacks that the event announces
 *  TAKEN    end_setting()    QUIET    by the setter, which has cleared the event, and looks again
 *  SET      take()           QUIET    by the owner, which has cleared the event, and looks again
 */
enum serve_ready_state { SERVE_READY_QUIET, SERVE_READY_SETTING, SERVE_READY_SET, SERVE_READY_TAKEN };

struct serve_ready {
    struct lock lock; /* a dispatching thread holds it while it sets the event, the owner while it withdraws `number` */
    uint32_t state;   /* atomic: enum serve_ready_state */
    int32_t number;   /* atomic: 1 + the library's duplicate, 0 = none; written by the owner, under the lock */
};

/* This room's part of one thread's slot. */
struct serve_slot {
    struct reader_record *next_ready; /* link in a daemon's list of queues; under that daemon's lock */
    uint32_t listed;                  /* atomic: on a daemon's list or being served */
    struct serve_ready ready;
    struct work_producer producer; /* written by the owner */
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

/* The owner's scheduling class, as the owner read it last; written by the owner. */
static inline struct work_producer *serve_producer(const struct reader_record *record)
{
    return &serve_slot(record)->producer;
}

struct serve {
    const struct config *config;
    struct reader_registry *registry;
    struct callback *cb;
    struct watch *watch;
    struct work *work;
    struct turn *turn;
    struct lock barrier_lock; /* one rcu_barrier() at a time; held while it waits */
    /* Read for every batch, rarely written. */
    uint32_t progress __attribute__((aligned(BASE_CACHE_LINE))); /* atomic: futex: counts batches while threads wait
                                                                    for one */
    struct tally progress_waiters;
    struct serve_fork fork;
    struct counter krcud_given;
    struct serve_daemon aside; /* stands for all invokers that are no daemons; has neither list nor thread */
    struct complaint no_relief;
    uint32_t daemon_cpus; /* atomic: daemons have been created only on CPUs below it; rises */
    struct serve_daemon daemon[PLAT_CPU_MAX];
    struct serve_daemon relief[PLAT_CPU_MAX];
};

/* Fields that this room shows to other processes, for a struct serve at @at of @type. */
#define SERVE_INSPECT(type, at) INSPECT_FIELD("drive.krcud_given", type, at.krcud_given)

/* ---- initialisation and counters: init.c ---- */

void serve_init(struct serve *serve, const struct config *config, struct callback *cb, struct watch *watch,
                struct work *work, struct turn *turn);
void serve_stats(const struct serve *serve, struct rtrcu_stats *stats);

/* ---- fork: fork.c ---- */

/* Is an invoker of the library inside a callback? */
bool serve_is_invoking(void *serve);
/* Before fork: wait until no invoker is inside a callback, up to fork_wait_us, and keep all threads from moving
 * callbacks between stages. */
void serve_before_fork(struct serve *serve);
void serve_after_fork_parent(struct serve *serve);
void serve_after_fork_child(struct serve *serve, struct plat_tid old_thread_id);

/* Value: time that a thread may spend on callbacks meant for daemons, where daemons are forbidden or impossible. */
struct serve_call_budget {
    int64_t ns;       /* time limit; 0 = run nothing, PLAT_FOREVER = a whole batch of each queue */
    int64_t spent_ns; /* time spent; not counted without a limit */
    bool left;        /* callbacks remain */
};

/* ---- ready callbacks: dispatch.c ---- */

/* Collect callbacks, so that the backlog of the process is known.  Called while a thread that serves waits for
 * readers. */
static inline void serve_collect(struct serve *serve)
{
    (void)callback_collect(serve->cb);
}
/* Pass ready callbacks to daemons, or run them here if no daemon may or can be created.  True if some wait for their
 * owner. */
bool serve_dispatch(struct serve *serve);
/* As serve_dispatch(), but run no more here than @call_budget allows. */
bool serve_dispatch_within(struct serve *serve, struct serve_call_budget *call_budget);
/* The CPU whose daemon serves @record: where its owner runs, if the library's threads may run there.  Under the leaf
 * lock, or by the owner. */
uint32_t serve_cpu_of(const struct serve *serve, const struct reader_record *record);

/* ---- ready descriptors: ready.c ---- */

/* Create the calling thread's ready descriptor, if it has none.  Returns a number, which the caller closes, or
 * -errno. */
int serve_ready_open(struct reader_record *record);
/* Set or clear the calling thread's ready descriptor, after the thread has run as many of its callbacks as it may;
 * @stuck: callbacks were ready, and the thread could run none. */
void serve_ready_settle(struct reader_record *record, bool stuck);
/* Close the library's duplicate: the calling thread unregisters or exits, and its descriptor will not be set again. */
void serve_ready_close(struct reader_record *record);
/* Set the descriptors of these owners, for which ready callbacks wait.  With no lock held. */
void serve_ready_notify(struct reader_leaf *leaf, uint32_t owners);
/* In a fork's child, which shares the event with its parent: close the library's duplicate alone. */
void serve_ready_after_fork(struct reader_record *record);

/* ---- daemons: daemon.c ---- */

/* Release the slot of @record, whose thread has exited, once none of its callbacks is queued or being served. */
void serve_release_slot(struct reader_record *record);
/* Run one batch of @record's queue in the calling thread. */
void serve_in_call(struct serve *serve, struct reader_record *record, struct serve_call_budget *call_budget);
/* Put @record on the list of @cpu's daemon, in front if @urgent; creates that daemon, or uses another daemon that
 * runs.  False: no daemon exists, and none can be created now. */
bool serve_daemon_enqueue(struct serve *serve, struct reader_record *record, uint32_t cpu, bool urgent);
/* Create the daemons of all CPUs where the library's threads may run.  0 or -errno. */
int serve_daemon_start_all(struct serve *serve, const struct rtrcu_config *settings,
                           const struct plat_thread_attr *attr);

/* Create @daemon's thread if it has none; the caller has set @daemon->list.  Returns 0 or -errno. */
int serve_daemon_start(struct serve_daemon *daemon, const struct rtrcu_config *settings,
                       const struct plat_thread_attr *attr);

/* ---- relief: relief.c ---- */

/* If no callback of a daemon has returned for this long while other queues wait, the daemon's relief serves them. */
#define SERVE_RELIEF_NS 100000000
/* Called by the driver once per tick while callbacks are ready: create or wake reliefs where they are needed. */
void serve_relieve(struct serve *serve, int64_t now);

/* ---- waiting for callbacks: barrier.c ---- */

void serve_barrier(struct serve *serve);
/* backpressure=block: wait until @record's backlog is below callback_full_at().  Give up if no callback returns for
 * some time, if no thread of the library serves callbacks, or if the wait may depend on the calling thread.  Runs no
 * callback.  False: it gave up. */
bool serve_wait_below_full(struct serve *serve, struct reader_record *record);
/* Wait for at most 100 ms until fewer than @limit of @record's callbacks are pending.  Gives up earlier if no thread of
 * the library serves callbacks, or if the wait may depend on the calling thread.  Runs no callback. */
void serve_wait_for_backlog(struct serve *serve, const struct reader_record *record, uint64_t limit);

/* ---- progress of invocation: progress.c ---- */

/* After a batch: wake the threads that wait for callbacks. */
void serve_progress(struct serve *serve);
/* Wait until a batch has ended, unless @reached returns true; at most a tick, and at most @longest_ns. */
void serve_progress_wait(struct serve *serve, bool (*reached)(struct serve *, void *), void *argument,
                         int64_t longest_ns);

#endif

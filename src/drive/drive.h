/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Drivers: the only room that sleeps, wakes and makes threads.
 *
 * Knows: everything below.  Must not know: the public entry points.
 *
 * A driver turns grace periods for callbacks and polled cookies; a caller of synchronize_rcu() turns its own.  A thread
 * that waits takes one step at a time, and goes on where another has stopped.  Daemons krcud/N invoke callbacks that
 * their owners leave.
 *
 *  thread.h          threads of ours: how one is made, sleeps and is woken
 *  turn/turn.h       turning a grace period: its steps, the fence, expedited ones, boosting readers in its way
 *  serve/serve.h     serving callbacks: to whom ready ones go, daemons, waiting for them
 *  driver/driver.h   what turns and serves when nobody waits
 *  work/work.h       threads for one task: what a driver or a caller cannot wait for
 *  history/          drivers that reproduce what a document tells, for comparison
 */
#ifndef RTRCU_DRIVE_DRIVE_H
#define RTRCU_DRIVE_DRIVE_H

#include "drive/driver/driver.h"
#include "drive/work/work.h"

/* What this room keeps of one thread. */
struct drive_slot {
    struct reader_record *next_ready; /* a daemon's list of queues; under that daemon's lock */
    uint32_t listed;                  /* atomic: on a daemon's list or being served */
    uint32_t booster;                 /* atomic: thread id of the one thread that boosts its owner now, 0 = nobody */
    uint64_t boosted_gp;              /* atomic: grace period that boosted_ns belongs to; written by the booster */
    int64_t boosted_ns;               /* atomic: for how long it was boosted in it; likewise */
    int64_t looked_cpu_ns; /* CPU time that the thread had used at the last first look; under the leaf lock */
};

struct drive_leaf {
    struct drive_slot slot[READER_FANOUT];
};

void drive_leaf_init(struct drive_leaf *part, struct reader_leaf *leaf);

static inline struct drive_slot *drive_slot(const struct reader_record *record)
{
    struct drive_leaf *part = (struct drive_leaf *)reader_part(reader_leaf_of(record), READER_DRIVE);
    return &part->slot[reader_slot(record)];
}

struct drive {
    const struct config *config;
    struct reader_registry *registry;
    struct gp *gp;
    struct callback *cb;
    struct watch *watch;
    struct lock barrier_lock;          /* one rcu_barrier() at a time; held while it waits */
    const struct drive_driver *driver; /* atomic: written by drive_change(), with its thread held */
    const struct plat_home *home;      /* atomic: where threads run that are made from now on; an old one stays */
    struct drive_home *homes;          /* others than the process's, newest first; under the configuration lock */
    struct plat_home process;          /* as it began */
    struct drive_thread thread;        /* the driver's */
    struct drive_thread end;           /* of the one that ends the process */
    int64_t refused_ns;                /* atomic: when a thread was refused last, 0 = never */
    struct counter threads_refused;
    uint64_t threads;          /* atomic: those of ours now, and above 32 bits how often that has changed */
    uint32_t main_ended;       /* atomic: the process's main thread has called pthread_exit() */
    int64_t online_ns;         /* of the driver: when a deadline thread was online last, 0 = long ago */
    uint32_t urgent;           /* atomic: the next grace period begins at once */
    uint32_t turns;            /* atomic: futex: counts releases of the normal crank while some wait for it */
    struct tally turn_waiters; /* callers that leave it to the driver */
    /* Every batch looks at these, and few write them. */
    uint32_t progress __attribute__((aligned(BASE_CACHE_LINE))); /* atomic: futex: counts batches while some wait */
    struct tally progress_waiters;
    struct drive_turning turning[GP_KINDS] __attribute__((aligned(BASE_CACHE_LINE)));
    struct drive_numbers numbers;
    struct drive_worker worker[DRIVE_WORKERS];
    struct drive_boosting boosting;
    struct drive_visit visit;
    uint32_t report_is_left;        /* atomic: a report waits for a thread that holds nothing, and there is no worker */
    void (*blocking_handler)(void); /* atomic: told whenever tasks come that a grace period waits for */
    int64_t flooded_ns;             /* atomic: when a backlog was last seen at qmax */
    struct counter boosts, boost_ns, boost_refused, boost_given_up;
    uint64_t boost_ns_max; /* atomic */
    int64_t share_ns;      /* constant: at most so long one reader is boosted in one grace period */
    struct counter wakeups, passes, rt_refused, fence_refused, krcud_given;
    struct tally forking; /* threads between prepare and parent handler */
    uint32_t fork_event;  /* atomic: futex: an invoker has stopped while a thread forks */
    struct counter fork_given_up;
    uint32_t generation;      /* forks since the first ancestor; written in a child before it has a second thread */
    struct plat_tid survivor; /* the thread that forked this process, nobody = it was not forked; likewise */
    struct krcud aside;       /* of invocations outside daemons; has neither list nor thread */
    struct krcud krcud[PLAT_CPU_MAX];
};

/* The row in force; perhaps the one before a change, so it is read once for each decision. */
static inline const struct drive_driver *drive_row(const struct drive *drive)
{
    return rtrcu_load_acquire(&drive->driver);
}
/* Was a backlog at qmax within the last DRIVE_FLOOD_NS? */
#define DRIVE_FLOOD_NS 10000000
static inline bool drive_is_flooded(const struct drive *drive, int64_t now)
{
    return now - rtrcu_load_relaxed(&drive->flooded_ns) < DRIVE_FLOOD_NS;
}
static inline struct drive_turning *drive_turning_of(struct drive *drive, enum gp_kind kind)
{
    return &drive->turning[kind];
}
/* Has the driver a thread that runs? */
static inline bool drive_runs(const struct drive *drive)
{
    return drive_thread_runs(&drive->thread);
}
/* After an attempt to make it: it has none, and no thread is making it. */
static inline bool drive_is_refused(const struct drive *drive)
{
    return rtrcu_load_acquire(&drive->thread.state) == DRIVE_NONE;
}
/* At which daemons run while a backlog is at qmax, where they may. */
#define DRIVE_LIFTED_NICE -15
/* How long blocking backpressure waits for a backlog that stands still. */
#define DRIVE_PATIENCE_NS 100000000

/* Where threads run that are made now. */
static inline const struct plat_home *drive_home(const struct drive *drive)
{
    return rtrcu_load_acquire(&drive->home);
}
static inline int64_t drive_tick_ns(const struct drive *drive)
{
    return config_now(drive->config)->tick_us * 1000;
}

/* ---- the beginning, and counters: init.c ---- */

void drive_init(struct drive *drive, const struct config *config, struct gp *gp, struct callback *cb,
                struct watch *watch);

/* Another driver and home, from now on; the driver's thread is held. */
void drive_change(struct drive *drive, const struct drive_driver *driver, const struct plat_home *home);
/* What this room tells other processes. */
extern const struct inside_table drive_inside_table;
/* Fill in what this room counts. */
void drive_stats(const struct drive *drive, struct rtrcu_stats *stats);

/* ---- waking: wake.c ---- */

/* Do what a call of a lower room returned.  A deadline thread wakes nobody. */
void drive_perform(struct drive *drive, enum gp_actions actions);
/* The driver has something new to do; @urgent: at once, and not at its next tick. */
void drive_wake(struct drive *drive, bool urgent);
/* Wake it in any case, from a deadline thread too: one that registers, so that the driver ticks from now on, or one
 * that waits. */
void drive_wake_always(struct drive *drive);
/* The calling thread is online again: if it is a deadline thread, which wakes nobody from now on, and the driver sleeps
 * without a timeout, it is woken.  Without a thread of the driver, it may have to be at what is left. */
void drive_online(struct drive *drive);
/* As drive_wake() from a thread that may not make a system call: the driver finds it at its next tick. */
void drive_wake_later(struct drive *drive, bool urgent);

/* ---- fork: fork.c ---- */

/* Before fork: no invoker of ours is inside a callback afterwards, as far as it returns within fork_wait_us, and nobody
 * moves callbacks from one stage to the next. */
void drive_before_fork(struct drive *drive);
void drive_after_fork_parent(struct drive *drive);
void drive_after_fork_child(struct drive *drive, struct plat_tid old_thread_id);
/* In a torn child, whose thread may wait: its wait ends. */
void drive_end_waits(struct drive *drive);

#endif

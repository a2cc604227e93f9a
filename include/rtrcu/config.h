/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Configuration and statistics of the domain.
 *
 * Both structs begin with their size, so programs and library may have different versions: a field unknown to the other
 * side keeps its default (configuration) or is left out (statistics).
 */
#ifndef RTRCU_CONFIG_H
#define RTRCU_CONFIG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which thread invokes ready callbacks, and how many at a time. */
enum rtrcu_policy {
    RTRCU_POLICY_DAEMON,    /* daemons krcud/N, one per CPU, preemptible */
    RTRCU_POLICY_INLINE,    /* the owner, in calls documented to invoke callbacks, within its budget */
    RTRCU_POLICY_KRCUD,     /* the owner; while real-time work waits, at most bhlimit callbacks, and krcud/N the
                               rest (Linux patch of 2004) */
    RTRCU_POLICY_THROTTLE,  /* the owner, maxbatch callbacks, then a pause of plugticks ticks (Linux patch of 2004) */
    RTRCU_POLICY_UNBOUNDED, /* the owner, all ready callbacks without a break */
};

/* Which thread advances grace periods while no thread waits for one. */
enum rtrcu_driver {
    RTRCU_DRIVER_KTHREAD, /* a thread of the library, asleep on a futex while there is nothing to do */
    RTRCU_DRIVER_LTIMER,  /* a thread that polls once per tick while work is pending: one grace period per tick serves
                             all requests (Linux patch of 2002) */
    RTRCU_DRIVER_SCHED, /* threads of the program, in their quiescent states; no driver thread (Linux patch of 2002) */
    RTRCU_DRIVER_POLL,  /* a thread that polls for the end of each grace period (Linux patch of 2002) */
};

/* The action when a thread's backlog reaches qmax, or its share of qmax_process while the backlog of the process is
 * above qmax_process. */
enum rtrcu_backpressure {
    RTRCU_BACKPRESSURE_EXPEDITE, /* begin the grace period immediately, raise the daemons' priority */
    RTRCU_BACKPRESSURE_BLOCK,    /* call_rcu() waits, where it may, while the backlog shrinks */
    RTRCU_BACKPRESSURE_HELP,     /* calls that may run callbacks exceed their budget */
};

enum rtrcu_exp_worker {
    RTRCU_EXP_WORKER_KTHREAD,      /* callers take the first step, a worker at kthread_prio the others */
    RTRCU_EXP_WORKER_WORKQUEUE,    /* a worker at SCHED_OTHER takes all steps (Linux before 2022) */
    RTRCU_EXP_WORKER_KTHREAD_ONLY, /* a worker at kthread_prio takes all steps (Linux since 2022) */
};
enum rtrcu_blocked_lists { RTRCU_BLOCKED_LISTS_PERCPU, RTRCU_BLOCKED_LISTS_NODE };
enum rtrcu_krcud_when { RTRCU_KRCUD_WHEN_RT, RTRCU_KRCUD_WHEN_ALWAYS };
enum rtrcu_membarrier { RTRCU_MEMBARRIER_AUTO, RTRCU_MEMBARRIER_ON, RTRCU_MEMBARRIER_OFF };

/* gp_rtprio and krcud_rtprio: SCHED_FIFO 1 while a real-time thread queues callbacks, else SCHED_OTHER. */
#define RTRCU_RTPRIO_AUTO (-1)

/* Every field can be set by the environment variable RTRCU_ plus its name in upper case: RTRCU_TICK_US=500.
 * @room config, api */
struct rtrcu_config {
    uint32_t size; /* sizeof(struct rtrcu_config); set by rtrcu_config_init() */
    int32_t policy;
    int32_t driver;
    int32_t backpressure;
    int32_t exp_worker;
    int32_t blocked_lists;
    int32_t membarrier;
    int32_t boost;          /* 0 or 1: boost readers that hold up a grace period */
    int32_t normal;         /* 0 or 1: expedited waits become normal ones */
    int32_t expedited;      /* 0 or 1: normal waits become expedited ones */
    int32_t kthread_prio;   /* SCHED_FIFO priority of the workers for expedited grace periods, boosting and reports; 0 =
                               SCHED_OTHER */
    int32_t krcud_nice;     /* nice value of krcud/N, -20 .. 19 */
    int32_t krcud_rtprio;   /* SCHED_FIFO priority of krcud/N, 0 = SCHED_OTHER, or RTRCU_RTPRIO_AUTO */
    int32_t bhlimit;        /* policy krcud: number of callbacks of one grace period that the owner always runs; 0 = all
                               of them, without a daemon */
    int32_t maxbatch;       /* policy throttle: callbacks per pass */
    int32_t plugticks;      /* policy throttle: ticks of pause after a pass; 0 = no pause */
    int32_t blimit;         /* callbacks per batch while the backlog is small */
    int32_t qhimark;        /* backlog above which the grace period begins immediately and, with adaptive, batches have
                               no limit */
    int32_t qlowmark;       /* backlog at which batches are limited again */
    int32_t qmax;           /* backlog at which backpressure acts */
    int64_t budget_ns;      /* longest time of a batch in a call of the owner, nanoseconds */
    int64_t tick_us;        /* period of the coarse clock, microseconds */
    int64_t spin_us;        /* time for which a grace period polls readers' words before it sleeps, microseconds */
    int64_t boost_delay_us; /* age at which a normal grace period boosts its readers */
    int64_t stall_timeout_ms; /* age at which a grace period or rcu_barrier() is reported, 0 = never */
    int32_t krcud_when;       /* when a daemon runs the callbacks after bhlimit: while real-time work waits, or always
                                 (policy krcud) */
    int32_t adaptive;         /* 0 or 1: a backlog above qhimark removes the limits blimit and maxbatch until it is at
                                 qlowmark */
    /* The longest time that a fork waits until running callbacks of the library's threads have returned.  A thread that
     * forks have kept from running callbacks for this long runs a batch anyway. */
    int64_t fork_wait_us;
    char cpus[64];      /* CPUs of the library's threads: "0-3,7"; "" = those with which the process began */
    int64_t idle_scans; /* scans skip a thread found outside in this many consecutive scans, until it reads; 0 = never
                           */
    int64_t stack_kb;   /* stack size of the library's threads without thread-local memory, KiB; callbacks run on it */
    int32_t gp_rtprio;  /* SCHED_FIFO priority of the driver, 0 = SCHED_OTHER, or RTRCU_RTPRIO_AUTO */
    int32_t rt_share;   /* CPU time, in percent, that the driver and each krcud/N may use at the priorities
                           gp_rtprio and krcud_rtprio */
    /* While the backlog of the whole process is above this number, backpressure acts on each thread whose backlog is at
     * its share.  The share is this number divided by the threads that have a backlog.  0 = the larger of 1,000,000 and
     * 16 times qmax. */
    int64_t qmax_process;
};

void rtrcu_config_init_sized(struct rtrcu_config *config, uint32_t size);
void rtrcu_config_get_sized(struct rtrcu_config *config, uint32_t size);

/* Fill @config with the defaults and then with the environment's values, unless the program is set-user-id or has more
 * rights than the user who started it.  @config->size becomes the size filled in, which is less if the library is older
 * than the program; the rest is zero.  Does not fail. */
static inline void rtrcu_config_init(struct rtrcu_config *config)
{
    rtrcu_config_init_sized(config, (uint32_t)sizeof(*config));
}

/*
 * rtrcu_configure - set policy, driver and limits for the process.
 * Context:  any thread, outside read-side critical sections; best before the first call_rcu().
 * Blocks:   yes, until the new values are in force.
 * Ordering: none.
 * Returns:  0; -EINVAL: a value, or a combination of values, is not allowed; -ENOMEM; another -errno: not all daemons
 *           of policy krcud can be created now.  On failure nothing is changed, and the reason is printed on standard
 *           error and returned by rtrcu_config_error().
 * See:      docs/configuration.md
 */
int rtrcu_configure(const struct rtrcu_config *config);

/* The reason why the last rtrcu_configure() or rtrcu_config_set() of this thread was refused; "" if it was accepted, or
 * if there was no memory for the reason.  Valid until the next of these calls by this thread. */
const char *rtrcu_config_error(void);

/* Set one field by its name and text, as the environment does.  0, or -EINVAL with rtrcu_config_error(): a field beyond
 * @config->size is unknown to the program or to the library. */
int rtrcu_config_set(struct rtrcu_config *config, const char *name, const char *value);

/* Fill @config with the configuration in force, and set @config->size as rtrcu_config_init() does. */
static inline void rtrcu_config_get(struct rtrcu_config *config)
{
    rtrcu_config_get_sized(config, (uint32_t)sizeof(*config));
}

#define RTRCU_LATENCY_BUCKETS 32

/* Statistics.  All are totals since the program began, unless stated otherwise. */
struct rtrcu_stats {
    uint32_t size;               /* sizeof(struct rtrcu_stats), set by the caller */
    uint32_t full_fences;        /* 1: readers use full fences, since membarrier is refused or disabled */
    uint64_t gp_completed;       /* grace periods ended */
    uint64_t gp_busy;            /* of gp_completed, number that had to wait for a reader */
    uint64_t gp_slept;           /* of gp_completed, number whose advancing thread had to sleep */
    uint64_t gp_by_caller;       /* grace periods advanced by a caller of synchronize_rcu() */
    uint64_t gp_ns_last;         /* duration of the last grace period, nanoseconds */
    uint64_t gp_ns_max;          /* longest so far */
    uint64_t fence_refused;      /* heavy fences that the kernel refused */
    uint64_t exp_completed;      /* expedited grace periods ended */
    uint64_t stall_reports;      /* reports of grace periods, barriers and fences that take too long; counted before
                                    they are printed */
    uint64_t threads_registered; /* now: registered threads */
    uint64_t threads_peak;
    uint64_t threads_deadline; /* now: deadline threads */
    uint64_t callbacks_queued;
    uint64_t callbacks_invoked;
    uint64_t callbacks_by_owner;     /* of callbacks_invoked, number invoked in a call of the queue's owner */
    uint64_t callbacks_backlog;      /* now: queued and not returned yet */
    uint64_t callbacks_lost_at_fork; /* in a fork's child: callbacks that other threads were running or queueing */
    uint64_t over_qmax;              /* enqueues that succeeded and left a backlog above qmax, or above the share in
                                        force */
    uint64_t blocked_at_qmax;        /* enqueues that waited (backpressure=block) */
    uint64_t limit_raised;           /* times that a backlog above qhimark removed the limits blimit and maxbatch */
    uint64_t deadline_stops;         /* batches ended by a near deadline */
    uint64_t budget_stops;           /* batches ended by their time limit */
    uint64_t driver_wakeups;         /* wake-ups sent to the driver */
    uint64_t driver_passes;          /* how often the driver has gone through its work */
    uint64_t slow_locks;             /* reader calls that took the slow path, of threads with a record */
    uint64_t rt_refused;             /* times that a thread of the library was refused its scheduling class or
                                        priority */
    uint64_t callbacks_direct;       /* callbacks that call_rcu_rt() ran immediately */
    uint64_t direct_refused;         /* calls of call_rcu_rt() that had to queue */
    uint64_t limit_stops;            /* owner's batches that ended at bhlimit or maxbatch */
    uint64_t boosts;                 /* times a reader was boosted */
    uint64_t boost_ns;               /* total time of boosts, nanoseconds */
    uint64_t boost_ns_max;           /* longest boost, nanoseconds */
    uint64_t boost_refused;          /* boosts refused by the kernel, or for lack of real-time permission */
    uint64_t boost_given_up;         /* readers that reached their boost limit and were left to the stall report */
    uint64_t krcud_given;            /* queues passed to a daemon */
    /* Time from the oldest call_rcu() of a batch to the batch's first callback: bucket i counts 2^i .. 2^(i+1) - 1 us,
     * bucket 0 also less.  One sample per batch. */
    uint64_t latency_us_log2[RTRCU_LATENCY_BUCKETS];
    uint64_t frees_leaked; /* pointers that rcu_free() leaked: no memory to queue them, and the caller could not wait */
    uint64_t threads_slept; /* times that scans began to skip a thread, after idle_scans scans outside */
    uint64_t threads_woken; /* times that an idle thread was scanned again, since it read or became a deadline thread */
    uint64_t gp_at_once;    /* of gp_completed, number that found no reader and completed immediately */
    uint64_t gp_unfenced; /* of gp_completed without gp_at_once, number that needed no heavy fence: all scanned threads
                             were online qsbr threads, or no thread was scanned */
    uint64_t callback_oldest_ns; /* now: when the oldest pending callback was queued, CLOCK_MONOTONIC; 0 = none */
    uint64_t callback_ns_max;  /* longest running time of a callback; up to eight callbacks in a row are timed together,
                                  and their mean counts */
    uint64_t callback_longest; /* address of that callback's function; of free() for rcu_free() and rcu_free_head() */
    uint64_t section_ns_max;   /* longest section of code built with RTRCU_DEBUG; 0 = none was measured */
    uint64_t section_longest;  /* address at which that section began */
    uint64_t exp_by_caller;    /* of exp_completed, number that a caller advanced to the end */
};

/*
 * rtrcu_stats - copy the statistics.
 * Context:  any thread.
 * Blocks:   never.
 * Ordering: none: a value may be late.
 * Returns:  0; @stats->size becomes the size filled in, which is less if the library is older than the program.
 *           -EINVAL: the size is 0 or no multiple of 8.
 */
#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* function and struct share a name, as stat() does */
#endif
int rtrcu_stats(struct rtrcu_stats *stats);
/* Like rtrcu_stats(), for a flavour of liburcu that the process runs on this library: "urcu-memb", "urcu-mb",
 * "urcu-qsbr" or "urcu-bp"; NULL: the native domain.  Values that a flavour does not count stay 0.  Takes short locks.
 * -ENOENT: the process has no such flavour. */
int rtrcu_stats_of(const char *flavour, struct rtrcu_stats *stats);

/* The resources that the library has taken from the calling thread.  All are totals since the thread began.
 * @room api */
struct rtrcu_thread_stats {
    uint32_t size;         /* sizeof(struct rtrcu_thread_stats), set by the caller */
    uint32_t reserved;     /* 0 */
    uint64_t slow_paths;   /* slow paths that the thread took in reader calls, call_rcu() and rcu_free() */
    uint64_t system_calls; /* system calls that the library made, without those in malloc(), free() and callbacks */
    uint64_t callback_ns;  /* wall time of the callback batches that the thread ran, nanoseconds */
    uint64_t batch_ns_max; /* longest of these batches, nanoseconds */
    uint64_t boosts;       /* number of times that the thread was boosted in a section */
    uint64_t lock_waits;   /* number of times that the thread waited for a lock of the library */
};

/*
 * rtrcu_thread_stats - copy the statistics of the calling thread.
 * Context:  any thread; makes no system call and takes no lock.
 * Blocks:   never.
 * Ordering: none.
 * Returns:  0; @stats->size becomes the size filled in, which is less if the library is older than the program.
 *           -EINVAL: the size is 0 or no multiple of 8.
 */
int rtrcu_thread_stats(struct rtrcu_thread_stats *stats);
#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#ifdef __cplusplus
}
#endif

#endif

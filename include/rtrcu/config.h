/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Configuration and counters of the domain.
 *
 * Both structs begin with their size, so that programs and library may be of different ages: a field that the other
 * side does not know keeps its default (configuration) or is left out (counters).
 */
#ifndef RTRCU_CONFIG_H
#define RTRCU_CONFIG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Who invokes ready callbacks, and how many at a time. */
enum rtrcu_policy {
    RTRCU_POLICY_DAEMON,    /* krcud/N daemons, one a CPU, preemptible */
    RTRCU_POLICY_INLINE,    /* the owner, in calls whose name says so, within its budget */
    RTRCU_POLICY_KRCUD,     /* at most bhlimit by the owner while real-time work waits, the rest by krcud/N (2004) */
    RTRCU_POLICY_THROTTLE,  /* maxbatch by the owner, then plugticks ticks of rest (2004) */
    RTRCU_POLICY_UNBOUNDED, /* the owner, everything that is ready, without a break */
};

/* Who does the work of grace periods when no thread waits for one. */
enum rtrcu_driver {
    RTRCU_DRIVER_KTHREAD, /* a thread of its own, asleep on a futex while there is nothing to do */
    RTRCU_DRIVER_LTIMER,  /* a tick, while there is something to do, that batches everything (2002) */
    RTRCU_DRIVER_SCHED,   /* the program's own quiescent states; no thread (2002) */
    RTRCU_DRIVER_POLL,    /* a thread that polls for the end of the grace period (2002) */
};

/* What happens when a thread's backlog reaches qmax. */
enum rtrcu_backpressure {
    RTRCU_BACKPRESSURE_EXPEDITE, /* the grace period at once, daemons lifted */
    RTRCU_BACKPRESSURE_BLOCK,    /* call_rcu() waits, where it may, as long as the backlog moves */
    RTRCU_BACKPRESSURE_HELP,     /* calls that may run callbacks run them beyond their budget */
};

enum rtrcu_exp_worker {
    RTRCU_EXP_WORKER_KTHREAD,      /* callers turn the first step, a worker at kthread_prio the rest */
    RTRCU_EXP_WORKER_WORKQUEUE,    /* a worker at SCHED_OTHER turns all of it (before 2022) */
    RTRCU_EXP_WORKER_KTHREAD_ONLY, /* a worker at kthread_prio turns all of it (2022) */
};
enum rtrcu_blocked_lists { RTRCU_BLOCKED_LISTS_PERCPU, RTRCU_BLOCKED_LISTS_NODE };
enum rtrcu_krcud_when { RTRCU_KRCUD_WHEN_RT, RTRCU_KRCUD_WHEN_ALWAYS };
enum rtrcu_membarrier { RTRCU_MEMBARRIER_AUTO, RTRCU_MEMBARRIER_ON, RTRCU_MEMBARRIER_OFF };

/* Every field has the same name in the environment, in upper case behind RTRCU_: RTRCU_TICK_US=500.
 * @room config, api */
struct rtrcu_config {
    uint32_t size; /* sizeof(struct rtrcu_config); set by rtrcu_config_init() */
    int32_t policy;
    int32_t driver;
    int32_t backpressure;
    int32_t exp_worker;
    int32_t blocked_lists;
    int32_t membarrier;
    int32_t boost;            /* 0 or 1: boost readers that hold up a grace period */
    int32_t normal;           /* 0 or 1: expedited calls that wait become normal ones */
    int32_t expedited;        /* 0 or 1: normal calls that wait become expedited ones */
    int32_t kthread_prio;     /* SCHED_FIFO priority of the threads that expedite, boost and report, 0 = SCHED_OTHER */
    int32_t krcud_nice;       /* nice value of krcud/N, -20 .. 19 */
    int32_t krcud_rtprio;     /* SCHED_FIFO priority of krcud/N, 0 = SCHED_OTHER */
    int32_t bhlimit;          /* callbacks of a grace period that the owner runs in any case, 0 = no daemon (krcud) */
    int32_t maxbatch;         /* callbacks a pass (policy throttle) */
    int32_t plugticks;        /* ticks of rest after a pass, 0 = continue at once (policy throttle) */
    int32_t blimit;           /* callbacks a batch while the backlog is small */
    int32_t qhimark;          /* backlog above which the limit is raised and the grace period pushed */
    int32_t qlowmark;         /* backlog at which the limit falls back */
    int32_t qmax;             /* backlog at which the backpressure policy acts */
    int64_t budget_ns;        /* time a batch may take in a call of the owner */
    int64_t tick_us;          /* period of the coarse clock, microseconds */
    int64_t spin_us;          /* how long a grace period watches readers before it sleeps */
    int64_t boost_delay_us;   /* age of a normal grace period at which boosting begins */
    int64_t stall_timeout_ms; /* age at which a grace period or rcu_barrier() is reported, 0 = never */
    int32_t krcud_when;       /* when a daemon has the rest: once real-time work waits, or always (policy krcud) */
    int32_t adaptive;         /* 0 or 1: a backlog above qhimark lifts blimit and maxbatch until it is at qlowmark */
    /* How long a fork waits at most for callbacks that the library's threads run to return.  After forks have kept such
     * a thread from running callbacks for as long, it runs some anyway. */
    int64_t fork_wait_us;
    char cpus[64];      /* where the library's threads may run: "0-3,7"; "" = where the process began */
    int64_t idle_scans; /* outside in so many scans, a thread is not looked at before it reads; 0 = never */
    int64_t stack_kb;   /* stacks of the library's threads, on which callbacks run, KiB above thread-local memory */
};

void rtrcu_config_init_sized(struct rtrcu_config *config, uint32_t size);
void rtrcu_config_get_sized(struct rtrcu_config *config, uint32_t size);

/* Fill @config with the defaults and then with what the environment says, unless the program is set-user-id or has
 * other rights than whoever started it.  Its size is then what was filled in, which is less where the library is older
 * than the program; the rest is zero.  Does not fail. */
static inline void rtrcu_config_init(struct rtrcu_config *config)
{
    rtrcu_config_init_sized(config, (uint32_t)sizeof(*config));
}

/*
 * rtrcu_configure - choose policy, driver and limits for the process.
 * Context:  any thread, outside read-side critical sections; best before the first call_rcu().
 * Blocks:   yes, while the new values take effect.
 * Ordering: none.
 * Returns:  0, or -EINVAL for a value that is not allowed or a pair that cannot work, or -ENOMEM: nothing is changed,
 *           and rtrcu_config_error() says why, as does standard error.  Another -errno: policy krcud's daemons cannot
 *           all be made now, and nothing is changed either.
 * See:      docs/configuration.md
 */
int rtrcu_configure(const struct rtrcu_config *config);

/* Why the last rtrcu_configure() or rtrcu_config_set() of this thread was refused; "" where it was not, or where there
 * was no memory to keep the reason.  Valid until the next of these calls by this thread. */
const char *rtrcu_config_error(void);

/* Set one field by its name and text, as the environment does.  0, or -EINVAL with rtrcu_config_error(): a field that
 * lies beyond @config->size is one that program or library does not know. */
int rtrcu_config_set(struct rtrcu_config *config, const char *name, const char *value);

/* The configuration in force; size and rest as rtrcu_config_init() leaves them. */
static inline void rtrcu_config_get(struct rtrcu_config *config)
{
    rtrcu_config_get_sized(config, (uint32_t)sizeof(*config));
}

#define RTRCU_LATENCY_BUCKETS 32

/* Counters.  All are totals since the program began, unless said otherwise. */
struct rtrcu_stats {
    uint32_t size;               /* sizeof(struct rtrcu_stats), set by the caller */
    uint32_t full_fences;        /* 1: readers use full fences, since membarrier is refused or off */
    uint64_t gp_completed;       /* grace periods ended */
    uint64_t gp_busy;            /* of these, how many had to wait for a reader */
    uint64_t gp_slept;           /* of these, how many had to sleep */
    uint64_t gp_by_caller;       /* grace periods whose crank a caller of synchronize_rcu() turned */
    uint64_t gp_ns_last;         /* duration of the last grace period, nanoseconds */
    uint64_t gp_ns_max;          /* the longest so far */
    uint64_t fence_refused;      /* heavy fences that the kernel refused */
    uint64_t exp_completed;      /* expedited grace periods ended */
    uint64_t stall_reports;      /* on grace periods, barriers and fences; counted before they are written */
    uint64_t threads_registered; /* now */
    uint64_t threads_peak;
    uint64_t threads_deadline; /* now */
    uint64_t callbacks_queued;
    uint64_t callbacks_invoked;
    uint64_t callbacks_by_owner;     /* of these, invoked in a call of the queue's owner */
    uint64_t callbacks_backlog;      /* now: queued and not yet returned */
    uint64_t callbacks_lost_at_fork; /* under way in threads that a fork did not copy */
    uint64_t over_qmax;              /* enqueues that went through and left a backlog above qmax */
    uint64_t blocked_at_qmax;        /* enqueues that waited (backpressure block) */
    uint64_t limit_raised;           /* times a backlog above qhimark lifted the limit of count */
    uint64_t deadline_stops;         /* batches that ended since the deadline was near */
    uint64_t budget_stops;           /* batches that ended since the time was used up */
    uint64_t driver_wakeups;         /* wake-ups sent to the driver */
    uint64_t driver_passes;          /* turns of the driver's loop */
    uint64_t slow_locks;             /* reader calls that took the slow path, of threads with a record */
    uint64_t rt_refused;             /* times that a thread of the library was refused its scheduling */
    uint64_t callbacks_direct;       /* run by call_rcu_rt() at once */
    uint64_t direct_refused;         /* call_rcu_rt() that had to queue */
    uint64_t limit_stops;            /* owner's batches that ended at bhlimit or maxbatch */
    uint64_t boosts;                 /* times a reader was boosted */
    uint64_t boost_ns;               /* for how long in all, nanoseconds */
    uint64_t boost_ns_max;           /* the longest single time */
    uint64_t boost_refused;          /* boosts that the kernel refused, or without real-time permission */
    uint64_t boost_given_up;         /* readers that used up their share and were left to the stall report */
    uint64_t krcud_given;            /* queues handed to a daemon */
    /* From the oldest call_rcu() of a batch to the batch's first callback: bucket i counts 2^i .. 2^(i+1) - 1 us,
     * bucket 0 also less.  One sample a batch. */
    uint64_t latency_us_log2[RTRCU_LATENCY_BUCKETS];
    uint64_t frees_leaked;  /* pointers of rcu_free() without memory to queue them, where the caller could not wait */
    uint64_t threads_slept; /* times a thread was put to sleep, since it had not read for idle_scans scans */
    uint64_t threads_woken; /* times one woke, since it read or became a deadline thread */
    uint64_t gp_at_once;    /* of gp_completed, how many found that nobody read, and turned nothing */
    uint64_t gp_unfenced;   /* how many others needed no heavy fence: only online qsbr threads were awake, or none */
    uint64_t callback_oldest_ns; /* now: when the oldest of the backlog was queued, CLOCK_MONOTONIC; 0 = none */
    uint64_t callback_ns_max;    /* the longest that a callback ran: the mean of up to eight that ran in a row */
    uint64_t callback_longest;   /* the address of its function; that of free() for rcu_free() and rcu_free_head() */
    uint64_t section_ns_max;     /* the longest section of code built with RTRCU_DEBUG; 0 = none was measured */
    uint64_t section_longest;    /* the address where it began */
    uint64_t exp_by_caller;      /* of exp_completed, how many a caller turned to their end */
};

/*
 * rtrcu_stats - copy the counters.
 * Context:  any thread.
 * Blocks:   never.
 * Ordering: none: a counter may be late.
 * Returns:  0; @stats->size is then what was filled in, which is less where the library is older than the program.
 *           -EINVAL for a size that is no multiple of 8, or 0.
 */
#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* function and struct share a name, as stat() does */
#endif
int rtrcu_stats(struct rtrcu_stats *stats);
/* The same of a flavour of liburcu that the process runs on this library: "urcu-memb", "urcu-mb", "urcu-qsbr" or
 * "urcu-bp"; NULL: as rtrcu_stats().  What a flavour has no counter for stays 0.  Takes short locks.  -ENOENT: the
 * process has no such flavour. */
int rtrcu_stats_of(const char *flavour, struct rtrcu_stats *stats);
#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#ifdef __cplusplus
}
#endif

#endif

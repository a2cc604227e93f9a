/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Adopted flavours: domains whose readers' words belong to the program, in the protocol of liburcu's ABI.
 *
 * Knows: everything below, of which it uses the ranked lock, sequence numbers, callback queues, settings, fences.  Must
 * not know: the native domain's readers.  Waits, wakes and creates threads, as the rooms from work/ on do.
 *
 *  flavour  inside               a new section        step     a reader's fence
 *  memb bp  low 32 bits not 0    high 32 bits differ  1 << 32  light while *light is not 0, else full
 *  mb       the same             the same             1 << 32  full
 *  qsbr     word not 0           word differs         2        full
 *
 * A grace period: begin; a fence; the scan, which stores in `seen` the word of each reader inside; then the generation
 * advances by a step.  A reader has passed when it is outside, or when its section is not the one seen.  No word is
 * compared with the current generation: a reader may load a generation, sleep for many grace periods, and store it
 * then.  Since words are compared with the word seen, such a reader delays a grace period at most until its section
 * ends.
 *
 *  word         transition       after
 *  outside      its owner        inside, with the generation that it loaded at some time before
 *  inside       its owner        inside, the same section: only nesting changes
 *  inside       its owner        outside
 *
 * INV-AD1: only the holder of the gp lock advances the generation, and sleeps on the program's futex.
 * INV-AD2: a record's `seen` and `is_holdout` are written under the words lock, by the holder of the gp lock or by the
 * owner when it exits.
 * INV-AD3: a server's callbacks run on one thread at a time, in order.
 *
 * Locks: gp lock (rank GP; held for a whole grace period, including its sleeps), words, servers (ranks of their own,
 * briefly).
 */
#ifndef RTRCU_URCU_URCU_H
#define RTRCU_URCU_URCU_H

#include <rtrcu/detail/adopt.h>

#include "work/work.h"

/* Value: the bits of a word of one kind. */
struct urcu_kind {
    uint64_t inside;  /* bits of the word, not all 0 while the thread is inside a section */
    uint64_t section; /* bits that differ between two sections, if a step lies between them */
    uint64_t step;
    bool wakes; /* a reader that ends its section wakes the thread that sleeps on the futex */
};
extern const struct urcu_kind urcu_kinds[RTRCU_ADOPT_FLAVOURS];

struct adopt_record {
    struct rtrcu_adopted_reader *reader; /* atomic: the thread's block; NULL = no reader */
    uint32_t used;                       /* atomic: claimed */
    uint32_t thread_id;                  /* atomic */
    uint64_t seen;
    bool is_holdout;
};

#define URCU_RECORDS 32

/* Records.  A chunk is never freed; new chunks are added at the end of the list. */
struct urcu_chunk {
    struct urcu_chunk *next; /* atomic */
    struct adopt_record record[URCU_RECORDS];
    struct rtrcu_adopted_reader *own; /* constant: bp: the blocks of these records */
};

/* A function passed to defer_rcu(). */
struct urcu_deferred {
    void (*func)(void *);
    void *p;
};

/* Maximum number of pending deferred functions of a thread. */
#define URCU_RING (CHECK_DEBUG ? 4 : 4096)

/* A thread's ring of deferred functions.  Never freed. */
struct adopt_ring {
    struct adopt_ring *next;                                   /* constant once listed */
    uint32_t used;                                             /* atomic: 1 = a thread owns the ring */
    uint64_t pushed __attribute__((aligned(BASE_CACHE_LINE))); /* atomic: number pushed; written by its owner */
    uint64_t taken __attribute__((aligned(BASE_CACHE_LINE)));  /* atomic: number taken; written by the drainer */
    uint64_t noted;                                            /* written by the drainer, which runs functions with
                                                                  lower numbers */
    struct urcu_deferred entry[URCU_RING];                     /* functions number @taken to @pushed - 1 */
};

enum urcu_sleep { URCU_AWAKE, URCU_PACING, URCU_ASLEEP };

/* A thread that serves callbacks; programs know it as struct call_rcu_data. */
struct adopt_server {
    struct cb_queue queue; /* only its inbox is used */
    struct adopt_server *next;
    struct rtrcu_adopted *adopted;
    uint32_t sleeping __attribute__((aligned(BASE_CACHE_LINE))); /* atomic: enum urcu_sleep; written by its thread */
    uint32_t event;                                              /* atomic: futex: counts wake-ups */
    uint32_t urgent;    /* atomic: not 0: its next grace period begins without a pause */
    uint32_t serving;   /* atomic: not 0: its thread is inside a batch */
    uint32_t stop;      /* atomic */
    uint32_t ended;     /* atomic: futex: its thread no longer accesses this struct */
    uint32_t state;     /* atomic: enum work_state */
    uint32_t real_time; /* not 0: callers never wake its thread, which polls */
    int32_t cpu;        /* -1: any */
    bool joined_by_program;
    bool lifted;         /* accessed only by its thread: the thread's priority is raised */
    int64_t held_off_ns; /* accessed only by its thread: time since which forks delay its next batch, 0 = none does */
    uint64_t invoked;    /* atomic counter */
    uintptr_t function;  /* atomic: function that its thread runs, or ran last */
    int64_t inbox_ns;    /* atomic: when the inbox ceased to be empty, 0 = its thread has taken it since */
    int64_t batch_ns;    /* atomic: when the batch's oldest callback was queued, 0 = no batch; written by its thread */
    uint32_t thread_id;  /* atomic: id of its thread, for other processes; 0 = it has none */
    int32_t refused;     /* atomic: error of the last attempt to create its thread, 0 = none */
    uint64_t started;    /* atomic: written by its thread, or the thread that frees it; invoked + 1: @running has
                            begun, or is about to */
    const struct rcu_head *running; /* atomic: written like started */
    struct cb_chain batch;
    struct plat_thread thread;
};

struct rtrcu_adopted {
    struct rtrcu_adopt_flavour flavour; /* constant */
    const struct urcu_kind *kind;       /* constant */
    struct rtrcu_adopted *next;         /* constant once listed */
    struct urcu *all;
    /* Grace periods. */
    uint64_t seq; /* atomic: written by the holder of the gp lock */
    struct lock gp_lock;
    uint32_t event; /* atomic: futex: counts releases of the gp lock */
    struct tally waiters;
    bool unconfirmed; /* under the gp lock: readers must use full fences, and no fence has confirmed yet that all do */
    int64_t began_ns; /* under the gp lock */
    int64_t report_ns;
    uint32_t nap;                    /* futex on which threads sleep for a time; no thread wakes it */
    uint64_t completed, busy;        /* atomic counters; written under the gp lock */
    uint64_t stalls;                 /* atomic: number of reports */
    int64_t longest_ns;              /* atomic; written under the gp lock */
    struct complaint waits_inside;   /* reports of synchronize_rcu() and rcu_barrier() inside a section */
    struct complaint unserved_polls; /* reports of polled cookies for which no thread can be created */
    struct tally barriers;           /* number of rcu_barrier() calls in progress */
    uint64_t threads_refused;        /* atomic */
    /* Readers. */
    struct lock words_lock;
    uint32_t holdouts; /* number of holdouts; under the words lock */
    struct urcu_chunk first;
    /* Callbacks. */
    struct lock servers_lock;
    struct adopt_server *servers;   /* under the servers lock */
    uint64_t invoked_by_gone;       /* callbacks invoked by servers that have been freed; under the servers lock */
    struct adopt_server ordinary;   /* the default server */
    uint64_t wanted;                /* atomic: the latest polled cookie */
    uint32_t cpu_servers;           /* atomic: number of CPUs that have a server */
    struct rtrcu_fork_hooks *hooks; /* called around forks; under the servers lock */
    uint32_t hooks_count;
    struct adopt_server *of_cpu[PLAT_CPU_MAX]; /* atomic */
    struct adopt_ring *rings;                  /* atomic: the rings of deferred functions of all threads */
    uint32_t drainer;                          /* atomic: futex: id of the thread that drains rings, 0 = none */
    uint32_t defers;                           /* atomic: not 0: the default server has rings to drain */
    struct tally drain_waiters;                /* number of threads that wait for the drainer */
    struct adopt_ring *draining,
        *drains_to;             /* accessed only by the drainer: the ring being drained, and the ring before which the
                                                  drainer stops */
    uintptr_t running_deferred; /* atomic: the deferred function that runs; written by the drainer */
    uint32_t apart;             /* atomic: number of deferred functions that are in no ring */
    uint64_t over_qmax;         /* atomic: number of calls that queued although the backlog was at qmax */
    uint64_t blocked;           /* atomic: number of calls that waited because the backlog was at qmax */
    uint64_t lost_at_fork;      /* in a fork's child: callbacks of the parent that the child can neither run nor find */
    uint64_t lifts;             /* atomic: number of times that a server was raised above ordinary
                                   threads */
};

/* All flavours of the process. */
struct urcu {
    const struct config *config;
    struct reader_registry *registry; /* registry of the native domain: callers and the library's threads may be its
                                         readers too */
    struct watch *watch;
    struct work *work;
    struct rtrcu_adopted *first; /* atomic */
    unsigned int exit_key;       /* key of the exit hook, which unregisters exiting threads */
    int32_t exit_error;          /* not 0: @exit_key could not be created */
    struct work_pause pause;     /* pauses the servers of all flavours during a fork */
};

void urcu_init(struct urcu *all, const struct config *config, struct reader_registry *registry, struct watch *watch,
               struct work *work);
/* Create the exit hook, unless it exists: registered threads call @on_exit when they exit. */
void urcu_hook_exits(struct urcu *all, void (*on_exit)(void *));
/* The flavour called @name.  NULL: the process has none. */
struct rtrcu_adopted *urcu_named(struct urcu *all, const char *name);
/* The domain of the flavour's kind, created if it does not exist.  NULL: no memory. */
struct rtrcu_adopted *urcu_flavour(struct urcu *all, const struct rtrcu_adopt_flavour *flavour);

static inline struct rtrcu_adopted_reader *urcu_self(const struct rtrcu_adopted *adopted)
{
    return adopted->flavour.self();
}
static inline bool urcu_is_inside(const struct rtrcu_adopted *adopted, uint64_t word)
{
    return (word & adopted->kind->inside) != 0;
}

/* ---- readers: words.c ---- */

/* Allocate the blocks of @chunk if the flavour has its own (bp), before @chunk is published.  False: no memory. */
bool urcu_alloc_blocks(struct rtrcu_adopted *adopted, struct urcu_chunk *chunk);
/* Register the calling thread as a reader; qsbr: online.  False: no memory for a record. */
bool urcu_register(struct rtrcu_adopted *adopted);
void urcu_unregister(struct rtrcu_adopted *adopted);
void urcu_offline(struct rtrcu_adopted *adopted);
void urcu_online(struct rtrcu_adopted *adopted);
void urcu_wake_sleeper(struct rtrcu_adopted *adopted);
/* Called by the exit hook.  While further rounds of destructors are left, arms the hook again, to run after the
 * program's own hook; then unregisters the calling thread. */
void urcu_thread_exits(struct urcu *all);
/* Arm the exit hook for the calling thread. */
void urcu_arm_exit(struct urcu *all);
/* Iterate over records: with *@chunk NULL the first; NULL after the last. */
struct adopt_record *urcu_next_record(struct rtrcu_adopted *adopted, struct urcu_chunk **chunk, uint32_t *at);

/* ---- grace periods: period.c ---- */

uint64_t urcu_snap(const struct rtrcu_adopted *adopted);
bool urcu_reached(const struct rtrcu_adopted *adopted, uint64_t cookie);
void urcu_wait(struct rtrcu_adopted *adopted, uint64_t cookie);
static inline int64_t urcu_tick_ns(const struct rtrcu_adopted *adopted)
{
    return work_tick_ns(adopted->all->work);
}
/* Like work_sleep(). */
static inline void urcu_sleep_on(const struct rtrcu_adopted *adopted, uint32_t *word, uint32_t expected,
                                 int64_t timeout_ns)
{
    work_sleep(adopted->all->work, word, expected, timeout_ns);
}
/* Is the calling thread inside a section?  Being online does not count. */
bool urcu_in_section(const struct rtrcu_adopted *adopted);
/* Report that the calling thread would wait for itself in @call inside @where; @call returns without waiting. */
void urcu_refuse_wait(struct rtrcu_adopted *adopted, const char *call, const char *where);
/* May @call wait for callbacks?  False, with a report: the calling thread would wait for itself. */
bool urcu_may_wait(struct rtrcu_adopted *adopted, const char *call);
/* Begin a wait for readers in @call: the thread is outside meanwhile, whatever its discipline.  Pass the result to
 * urcu_wait_end(). */
bool urcu_wait_begin(struct rtrcu_adopted *adopted, const char *call);
void urcu_wait_end(struct rtrcu_adopted *adopted, bool was_online);
/* Wait for a full grace period; reports name @call. */
void urcu_synchronize(struct rtrcu_adopted *adopted, const char *call);

/* ---- reports: report.c ---- */

/* Report the grace period if it is too old.  Under the gp lock. */
void urcu_report_if_old(struct rtrcu_adopted *adopted, bool fenced);
/* Value: a call that waits for callbacks, and the age at which the next report is due. */
struct urcu_late {
    const char *call;
    int64_t began_ns, report_ns;
};
struct urcu_late urcu_late_begin(const struct rtrcu_adopted *adopted, const char *call);
/* Report a call that has waited too long, and the servers that it may wait for: @only, or NULL: all that have
 * callbacks.  The caller holds no lock. */
void urcu_report_if_late(struct rtrcu_adopted *adopted, struct urcu_late *late, const struct adopt_server *only);
/* Like urcu_report_if_late(), for a call that waits for the thread that drains rings. */
void urcu_report_drainer_if_late(struct rtrcu_adopted *adopted, struct urcu_late *late, struct plat_tid drainer);
/* Fill in the counters of this room. */
void urcu_stats(struct rtrcu_adopted *adopted, struct rtrcu_stats *stats);
void urcu_print(struct rtrcu_adopted *adopted);
/* Fields that this room shows to other processes. */
extern const struct inspect_table urcu_inspect_table;

/* ---- servers: server.c, choice.c ---- */

/* Initialise a server, and add it to the list; it has no thread yet. */
void urcu_server_init(struct adopt_server *server, struct rtrcu_adopted *adopted, unsigned long flags, int cpu);
struct adopt_server *urcu_server_create(struct rtrcu_adopted *adopted, unsigned long flags, int cpu);
void urcu_server_free(struct rtrcu_adopted *adopted, struct adopt_server *server);
/* The server of the thread's choice, or its CPU's, or the default.  Called in a section, since a CPU's server is freed
 * after a grace period. */
struct adopt_server *urcu_server_in_use(struct rtrcu_adopted *adopted);
/* Queue @head on the server that urcu_server_in_use() returns.  A CPU's server is used only if the caller is in a
 * section. */
void urcu_call(struct rtrcu_adopted *adopted, struct rcu_head *head, rcu_callback_t func);
void urcu_server_call(struct adopt_server *server, struct rcu_head *head, rcu_callback_t func);
/* Create the server's thread if it has none, and make it begin immediately.  False: no thread can be created now. */
bool urcu_server_urge(struct adopt_server *server);
bool urcu_server_start(struct adopt_server *server);
/* Create the server's thread if it has none, and wake it if it is asleep. */
void urcu_server_wake(struct adopt_server *server);
struct adopt_server *urcu_server_default(struct rtrcu_adopted *adopted);
struct adopt_server *urcu_server_of_cpu(struct rtrcu_adopted *adopted, int cpu);
struct adopt_server *urcu_server_of_thread(struct rtrcu_adopted *adopted);
/* Set the server that the calling thread uses.  False: no memory. */
bool urcu_server_set_thread(struct rtrcu_adopted *adopted, struct adopt_server *server);
bool urcu_has_cpu_servers(const struct rtrcu_adopted *adopted);
int urcu_server_set_cpu(struct rtrcu_adopted *adopted, int cpu, struct adopt_server *server);
int urcu_servers_create_all(struct rtrcu_adopted *adopted, unsigned long flags);
/* Free the servers of all CPUs, except those that another thread has begun to free. */
void urcu_servers_free_all(struct rtrcu_adopted *adopted);
/* In a fork's child: count the CPUs that have a server.  Another thread of the parent may have been between changing a
 * CPU's server and the count. */
void urcu_servers_recount(struct rtrcu_adopted *adopted);
unsigned long urcu_server_thread(struct adopt_server *server);

/* ---- waiting for callbacks: barrier.c ---- */

void urcu_barrier(struct rtrcu_adopted *adopted);

/* Request a grace period, and return its cookie. */
uint64_t urcu_start_poll(struct rtrcu_adopted *adopted);
/* Like urcu_reached(); also creates the thread that advances the grace period, if that was refused before. */
bool urcu_poll_state(struct rtrcu_adopted *adopted, uint64_t cookie);

/* ---- deferred functions: ring.c ---- */

static inline struct adopt_ring *urcu_rings(struct rtrcu_adopted *adopted)
{
    return rtrcu_load_acquire(&adopted->rings);
}
/* The calling thread's ring, NULL: it has none. */
struct adopt_ring *urcu_ring_own(const struct rtrcu_adopted *adopted);
/* Take a ring for the calling thread, which has none; NULL: no memory. */
struct adopt_ring *urcu_ring_take(struct rtrcu_adopted *adopted);
/* Push by the ring's owner.  False: the ring is full.  A full fence. */
bool urcu_ring_push(struct adopt_ring *ring, struct urcu_deferred deferred);
bool urcu_ring_is_full(const struct adopt_ring *ring);
/* Release the calling thread's ring, if it has one; functions in it are run. */
void urcu_ring_leave(struct rtrcu_adopted *adopted);

/* Does the default server have rings to drain, with no drainer at present? */
static inline bool urcu_defer_waits(const struct rtrcu_adopted *adopted)
{
    return rtrcu_load_acquire(&adopted->defers) && !rtrcu_load_acquire(&adopted->drainer);
}
/* Become the drainer.  False: another thread is the drainer, and *@drainer is its id. */
bool urcu_drain_claim(struct rtrcu_adopted *adopted, uint32_t *drainer);
/* Cease to be the drainer.  Called by the drainer, like all functions below.  True: notify the default server that it
 * has rings to drain. */
bool urcu_drain_release(struct rtrcu_adopted *adopted);
/* Note the functions in the rings from @first to before @end: they may run after a grace period that begins now.
 * False:  no function is left. */
bool urcu_drain_note(struct rtrcu_adopted *adopted, struct adopt_ring *first, struct adopt_ring *end);
/* Called by the server: claim the rings, and note the functions in all of them.  False: no function is left, or
 * another thread drains. */
bool urcu_drain_begin(struct rtrcu_adopted *adopted);
/* Is a noted function left? */
bool urcu_drain_has(struct rtrcu_adopted *adopted);
/* Run one noted function.  False: none is left. */
bool urcu_drain_one(struct rtrcu_adopted *adopted);
void urcu_drain_run(struct urcu_deferred deferred);
void urcu_rings_after_fork_child(struct rtrcu_adopted *adopted, struct plat_tid old_thread_id);

/* ---- defer_rcu(): defer.c ---- */

void urcu_defer(struct rtrcu_adopted *adopted, void (*func)(void *), void *p);
/* Wait until all functions that any thread deferred before the call have returned; _own(): all that the calling thread
 * deferred.  Refused if the calling thread would wait for itself. */
void urcu_defer_barrier(struct rtrcu_adopted *adopted);
void urcu_defer_barrier_own(struct rtrcu_adopted *adopted);

/* ---- fork: fork.c ---- */

/* The program calls these functions around a fork. */
void urcu_fork_begins(struct rtrcu_adopted *adopted);
void urcu_fork_ends(struct rtrcu_adopted *adopted, bool child);
void urcu_hooks(struct rtrcu_adopted *adopted, struct rtrcu_fork_hooks *hooks, bool add);

/* Keep servers from beginning callbacks; wait for running ones up to fork_wait_us. */
void urcu_pause(struct urcu *all);
void urcu_resume(struct urcu *all);
void urcu_before_fork(struct urcu *all);
void urcu_after_fork_parent(struct urcu *all);
void urcu_after_fork_child(struct urcu *all, struct plat_tid old_thread_id);

#endif

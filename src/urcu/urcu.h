/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Adopted flavours: domains whose readers' words are the program's, in the protocol of liburcu's ABI.
 *
 * Knows: everything below, of which it uses the ranked lock, sequence numbers, callback queues, settings, fences.  Must
 * not know: the native domain's readers.  Waits, wakes and makes threads, as the rooms from work/ on do.
 *
 *  flavour  inside               another section      step     a reader's fence
 *  memb bp  low 32 bits not 0    high 32 bits differ  1 << 32  light while *light is not 0, else full
 *  mb       the same             the same             1 << 32  full
 *  qsbr     word not 0           word differs         2        full
 *
 * A grace period: begin; a fence; the scan, which keeps in `seen` the word of each reader inside; then, behind the
 * scan, the generation steps; a reader has passed when it is outside, or when its section is another than the one
 * seen.  No word is ever compared with the generation in force: a reader may load a generation, sleep for many grace
 * periods, and store it then.  Against what was seen of the same word it can only be waited for too long, and no
 * longer than its section.
 *
 *  word         transition       after
 *  outside      its owner        inside, with the generation that it loaded at some time before
 *  inside       its owner        inside, the same section: nesting alone changes
 *  inside       its owner        outside
 *
 * INV-AD1: only the holder of the crank steps the generation, and sleeps on the program's futex.
 * INV-AD2: a record's seen and owes are written under the words lock, by the crank's holder or by the owner who leaves.
 * INV-AD3: a server's callbacks run on one thread at a time, in order.
 *
 * Locks: crank (rank CRANK; held for a whole grace period, its sleep included), words, servers (ranks of their own,
 * shortly).
 */
#ifndef RTRCU_URCU_URCU_H
#define RTRCU_URCU_URCU_H

#include <rtrcu/detail/adopt.h>

#include "work/work.h"

/* What a word of one kind means. */
struct urcu_kind {
    uint64_t inside;  /* bits that are not 0 inside */
    uint64_t section; /* bits that differ between sections, as far as a step lies between them */
    uint64_t step;
    bool wakes; /* a reader that leaves wakes the thread that sleeps on the futex */
};
extern const struct urcu_kind urcu_kinds[RTRCU_ADOPT_FLAVOURS];

struct adopt_record {
    struct rtrcu_adopted_reader *reader; /* atomic: NULL = nobody's */
    uint32_t used;                       /* atomic: claimed */
    uint32_t thread_id;                  /* atomic */
    uint64_t seen;
    bool is_holdout;
};

#define URCU_RECORDS 32

/* Never freed; another is added at the end. */
struct urcu_chunk {
    struct urcu_chunk *next; /* atomic */
    struct adopt_record record[URCU_RECORDS];
    struct rtrcu_adopted_reader *own; /* constant: bp: the blocks of these records */
};

/* A function that defer_rcu() was given. */
struct urcu_deferred {
    void (*func)(void *);
    void *p;
};

/* How many functions of a thread may wait. */
#define URCU_RING (CHECK_DEBUG ? 4 : 4096)

/* A thread's ring of deferred functions.  Never freed. */
struct adopt_ring {
    struct adopt_ring *next;                                   /* constant once listed */
    uint32_t used;                                             /* atomic: a thread has it */
    uint64_t pushed __attribute__((aligned(BASE_CACHE_LINE))); /* atomic: by its owner */
    uint64_t taken __attribute__((aligned(BASE_CACHE_LINE)));  /* atomic: by the drainer */
    uint64_t noted;                                            /* of the drainer: it runs those before */
    struct urcu_deferred entry[URCU_RING];                     /* from @taken to @pushed, by number */
};

enum urcu_sleep { URCU_AWAKE, URCU_PACING, URCU_ASLEEP };

/* A thread that serves callbacks; programs know it as struct call_rcu_data. */
struct adopt_server {
    struct cb_queue queue; /* its inbox alone */
    struct adopt_server *next;
    struct rtrcu_adopted *adopted;
    uint32_t sleeping __attribute__((aligned(BASE_CACHE_LINE))); /* atomic: enum urcu_sleep; by its thread */
    uint32_t event;                                              /* atomic: futex: counts wake-ups */
    uint32_t urgent;                                             /* atomic: the next grace period begins at once */
    uint32_t serving;                                            /* atomic: inside a callback */
    uint32_t stop;                                               /* atomic */
    uint32_t ended;     /* atomic: futex: its thread does not look at it any more */
    uint32_t state;     /* atomic: enum work_state */
    uint32_t real_time; /* callers never wake it */
    int32_t cpu;        /* -1: any */
    bool joined_by_program;
    bool lifted;         /* of its thread */
    int64_t held_off_ns; /* of its thread: since when forks keep it from its next batch, 0 = they do not */
    uint64_t invoked;    /* atomic counter */
    uintptr_t function;  /* atomic: that its thread runs, or has run last */
    int64_t inbox_ns;    /* atomic: when the inbox went from empty to not empty, 0 = its thread has taken it since */
    int64_t batch_ns;    /* atomic: the same of the batch, 0 = it is empty; by its thread */
    uint32_t thread_id;  /* atomic: of its thread, for other processes; 0 = it has none */
    int32_t refused;     /* atomic: why no thread could be made at the last attempt, 0 = one could */
    uint64_t started;    /* atomic: by its thread, or who frees it; invoked + 1: @running has begun, or is about to */
    const struct rcu_head *running; /* atomic: likewise */
    struct cb_chain batch;
    struct plat_thread thread;
};

struct rtrcu_adopted {
    struct rtrcu_adopt_flavour flavour; /* constant */
    const struct urcu_kind *kind;       /* constant */
    struct rtrcu_adopted *next;         /* constant once listed */
    struct urcu *all;
    /* Grace periods. */
    uint64_t seq; /* atomic: written by the crank's holder */
    struct lock gp_lock;
    uint32_t event; /* atomic: futex: counts releases of the crank */
    struct tally waiters;
    bool unconfirmed; /* of the crank: readers were told to fence, and no fence has been had since */
    int64_t began_ns; /* of the crank */
    int64_t report_ns;
    uint32_t nap;                    /* futex that nobody wakes */
    uint64_t completed, busy;        /* atomic counters; of the crank */
    uint64_t stalls;                 /* atomic: reports */
    int64_t longest_ns;              /* atomic; of the crank */
    struct complaint waits_inside;   /* synchronize_rcu(), rcu_barrier() inside a section */
    struct complaint unserved_polls; /* cookies that are polled for, and no thread can be made */
    struct tally barriers;           /* calls of rcu_barrier() under way */
    uint64_t threads_refused;        /* atomic */
    /* Readers. */
    struct lock words_lock;
    uint32_t holdouts; /* how many records owe; under the words lock */
    struct urcu_chunk first;
    /* Callbacks. */
    struct lock servers_lock;
    struct adopt_server *servers;   /* under the servers lock */
    uint64_t invoked_by_gone;       /* by servers that were freed; under the servers lock */
    struct adopt_server ordinary;   /* the default one */
    uint64_t wanted;                /* atomic: the latest cookie that is polled for */
    uint32_t cpu_servers;           /* atomic: how many CPUs have one */
    struct rtrcu_fork_hooks *hooks; /* around forks; under the servers lock */
    uint32_t hooks_count;
    struct adopt_server *of_cpu[PLAT_CPU_MAX]; /* atomic */
    struct adopt_ring *rings;                  /* atomic: of deferred functions, of all threads */
    uint32_t drainer;                          /* atomic: futex: number of the thread that drains rings, 0 = none */
    uint32_t defers;                           /* atomic: the default server has rings to drain */
    struct tally drain_waiters;                /* threads that wait for the drainer */
    struct adopt_ring *draining, *drains_to;   /* of the drainer: where it is, and where it ends */
    uintptr_t running_deferred;                /* atomic: the function that it runs; by the drainer */
    uint32_t apart;                            /* atomic: deferred functions that are in no ring */
    uint64_t over_qmax;                        /* atomic: calls that found the backlog at qmax, and went through */
    uint64_t blocked;                          /* atomic: calls that waited there */
    uint64_t lost_at_fork;                     /* callbacks of a parent that its child can neither run nor find */
    uint64_t lifts;                            /* atomic: times that a server began to run above ordinary threads */
};

/* All flavours of the process. */
struct urcu {
    const struct config *config;
    struct reader_registry *registry; /* of the native domain, in which our threads and callers may be readers too */
    struct watch *watch;
    struct work *work;
    struct rtrcu_adopted *first; /* atomic */
    unsigned int exit_key;       /* of threads that end while they are registered */
    int32_t exit_error;          /* not 0: there is no key */
    struct work_pause pause;     /* of their servers */
};

void urcu_init(struct urcu *all, const struct config *config, struct reader_registry *registry, struct watch *watch,
               struct work *work);
/* From the first flavour on: @on_exit runs at the end of threads that are registered. */
void urcu_hook_exits(struct urcu *all, void (*on_exit)(void *));
/* NULL: the process has none of that name. */
struct rtrcu_adopted *urcu_named(struct urcu *all, const char *name);
/* NULL: no memory. */
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

/* @chunk gets its blocks, where the flavour has blocks of its own, before anybody else knows it.  False: no memory. */
bool urcu_alloc_blocks(struct rtrcu_adopted *adopted, struct urcu_chunk *chunk);
/* False: no memory for a record. */
bool urcu_register(struct rtrcu_adopted *adopted);
void urcu_unregister(struct rtrcu_adopted *adopted);
void urcu_offline(struct rtrcu_adopted *adopted);
void urcu_online(struct rtrcu_adopted *adopted);
void urcu_wake_sleeper(struct rtrcu_adopted *adopted);
/* The calling thread's exit hook has run; as long as there are rounds left it is armed again, behind the program's
 * own hook. */
void urcu_thread_exits(struct urcu *all);
/* Have that hook run at the calling thread's end. */
void urcu_arm_exit(struct urcu *all);
/* Records in turn; NULL begins, and ends. */
struct adopt_record *urcu_next_record(struct rtrcu_adopted *adopted, struct urcu_chunk **chunk, uint32_t *at);

/* ---- grace periods: period.c ---- */

uint64_t urcu_snap(const struct rtrcu_adopted *adopted);
bool urcu_reached(const struct rtrcu_adopted *adopted, uint64_t cookie);
void urcu_wait(struct rtrcu_adopted *adopted, uint64_t cookie);
static inline int64_t urcu_tick_ns(const struct rtrcu_adopted *adopted)
{
    return work_tick_ns(adopted->all->work);
}
/* As work_sleep(). */
static inline void urcu_sleep_on(const struct rtrcu_adopted *adopted, uint32_t *word, uint32_t expected,
                                 int64_t timeout_ns)
{
    work_sleep(adopted->all->work, word, expected, timeout_ns);
}
/* Is the calling thread inside a section?  Being online is none. */
bool urcu_in_section(const struct rtrcu_adopted *adopted);
/* Report that @call, which returns, would wait for itself inside @where. */
void urcu_refuse_wait(struct rtrcu_adopted *adopted, const char *call, const char *where);
/* For callbacks; false: it would wait for itself, and that is said. */
bool urcu_may_wait(struct rtrcu_adopted *adopted, const char *call);
/* Outside while it waits, whatever its discipline; urcu_wait_end() is owed its answer.  @call waits for readers. */
bool urcu_wait_begin(struct rtrcu_adopted *adopted, const char *call);
void urcu_wait_end(struct rtrcu_adopted *adopted, bool was_online);
/* A grace period from here on, as @call. */
void urcu_synchronize(struct rtrcu_adopted *adopted, const char *call);

/* ---- reports: report.c ---- */

/* Under the crank. */
void urcu_report_if_old(struct rtrcu_adopted *adopted, bool fenced);
/* Value: a call that waits for callbacks, and the age at which it is reported next. */
struct urcu_late {
    const char *call;
    int64_t began_ns, report_ns;
};
struct urcu_late urcu_late_begin(const struct rtrcu_adopted *adopted, const char *call);
/* Report a call that has waited for too long, and the servers that it may wait for: @only, or NULL: all that have
 * callbacks.  The caller holds no lock. */
void urcu_report_if_late(struct rtrcu_adopted *adopted, struct urcu_late *late, const struct adopt_server *only);
/* The same of a call that waits for the thread that drains rings. */
void urcu_report_drainer_if_late(struct rtrcu_adopted *adopted, struct urcu_late *late, struct plat_tid drainer);
/* Fills in what this room counts. */
void urcu_stats(struct rtrcu_adopted *adopted, struct rtrcu_stats *stats);
void urcu_print(struct rtrcu_adopted *adopted);
/* What this room tells other processes. */
extern const struct inspect_table urcu_inspect_table;

/* ---- servers: server.c, choice.c ---- */

/* List it; it has no thread yet. */
void urcu_server_init(struct adopt_server *server, struct rtrcu_adopted *adopted, unsigned long flags, int cpu);
struct adopt_server *urcu_server_create(struct rtrcu_adopted *adopted, unsigned long flags, int cpu);
void urcu_server_free(struct rtrcu_adopted *adopted, struct adopt_server *server);
/* The caller is in a section: the server may be a CPU's, which is freed behind a grace period. */
struct adopt_server *urcu_server_in_use(struct rtrcu_adopted *adopted);
/* To the server in use; a CPU's only if the caller is in a section. */
void urcu_call(struct rtrcu_adopted *adopted, struct rcu_head *head, rcu_callback_t func);
void urcu_server_call(struct adopt_server *server, struct rcu_head *head, rcu_callback_t func);
/* Make its thread if it has none, and have it begin at once.  False: no thread is to be had now. */
bool urcu_server_urge(struct adopt_server *server);
bool urcu_server_start(struct adopt_server *server);
/* Make its thread if it has none, and wake it if it is asleep. */
void urcu_server_wake(struct adopt_server *server);
struct adopt_server *urcu_server_default(struct rtrcu_adopted *adopted);
struct adopt_server *urcu_server_of_cpu(struct rtrcu_adopted *adopted, int cpu);
struct adopt_server *urcu_server_of_thread(struct rtrcu_adopted *adopted);
/* False: no memory. */
bool urcu_server_set_thread(struct rtrcu_adopted *adopted, struct adopt_server *server);
bool urcu_has_cpu_servers(const struct rtrcu_adopted *adopted);
int urcu_server_set_cpu(struct rtrcu_adopted *adopted, int cpu, struct adopt_server *server);
int urcu_servers_create_all(struct rtrcu_adopted *adopted, unsigned long flags);
/* Those that another thread has begun to free are left to it. */
void urcu_servers_free_all(struct rtrcu_adopted *adopted);
/* In a fork's child: another thread of the parent may have been between a CPU's server and the count. */
void urcu_servers_recount(struct rtrcu_adopted *adopted);
unsigned long urcu_server_thread(struct adopt_server *server);

/* ---- waiting for callbacks: barrier.c ---- */

void urcu_barrier(struct rtrcu_adopted *adopted);

/* Have a grace period happen: its cookie. */
uint64_t urcu_start_poll(struct rtrcu_adopted *adopted);
/* As urcu_reached(); makes the thread that turns it, where that was refused before. */
bool urcu_poll_state(struct rtrcu_adopted *adopted, uint64_t cookie);

/* ---- deferred functions: ring.c ---- */

static inline struct adopt_ring *urcu_rings(struct rtrcu_adopted *adopted)
{
    return rtrcu_load_acquire(&adopted->rings);
}
/* The calling thread's, NULL: it has none. */
struct adopt_ring *urcu_ring_own(const struct rtrcu_adopted *adopted);
/* One for the calling thread, which has none; NULL: no memory. */
struct adopt_ring *urcu_ring_take(struct rtrcu_adopted *adopted);
/* By its owner.  False: it is full.  A full fence. */
bool urcu_ring_push(struct adopt_ring *ring, struct urcu_deferred deferred);
bool urcu_ring_is_full(const struct adopt_ring *ring);
/* The calling thread gives its ring up, if it has one; functions in it are run. */
void urcu_ring_leave(struct rtrcu_adopted *adopted);

/* Does the default server have rings to drain, which no thread drains now? */
static inline bool urcu_defer_waits(const struct rtrcu_adopted *adopted)
{
    return rtrcu_load_acquire(&adopted->defers) && !rtrcu_load_acquire(&adopted->drainer);
}
/* Become the drainer.  False: *@drainer is it. */
bool urcu_drain_claim(struct rtrcu_adopted *adopted, uint32_t *drainer);
/* By the drainer, as all below.  True: the default server is to be told that it has rings to drain. */
bool urcu_drain_release(struct rtrcu_adopted *adopted);
/* Note the functions in the rings from @first to before @end: they may run after a grace period from here on.  False:
 * there are none. */
bool urcu_drain_note(struct rtrcu_adopted *adopted, struct adopt_ring *first, struct adopt_ring *end);
/* By the server: claim, and note those of all rings.  False: there are none, or another thread drains. */
bool urcu_drain_begin(struct rtrcu_adopted *adopted);
/* Is one left that was noted? */
bool urcu_drain_has(struct rtrcu_adopted *adopted);
/* Run it; false: none is left. */
bool urcu_drain_one(struct rtrcu_adopted *adopted);
void urcu_drain_run(struct urcu_deferred deferred);
void urcu_rings_after_fork_child(struct rtrcu_adopted *adopted, struct plat_tid old_thread_id);

/* ---- defer_rcu(): defer.c ---- */

void urcu_defer(struct rtrcu_adopted *adopted, void (*func)(void *), void *p);
/* Functions that were deferred before have returned: by all threads, by the calling thread.  Refused where it would
 * wait for itself. */
void urcu_defer_barrier(struct rtrcu_adopted *adopted);
void urcu_defer_barrier_own(struct rtrcu_adopted *adopted);

/* ---- fork: fork.c ---- */

/* The program's own calls around a fork. */
void urcu_fork_begins(struct rtrcu_adopted *adopted);
void urcu_fork_ends(struct rtrcu_adopted *adopted, bool child);
void urcu_hooks(struct rtrcu_adopted *adopted, struct rtrcu_fork_hooks *hooks, bool add);

/* No server begins a callback from here on; those that are inside one are waited for, for fork_wait_us. */
void urcu_pause(struct urcu *all);
void urcu_resume(struct urcu *all);
void urcu_before_fork(struct urcu *all);
void urcu_after_fork_parent(struct urcu *all);
void urcu_after_fork_child(struct urcu *all, struct plat_tid old_thread_id);
/* In a torn child, whose thread may wait: its wait ends. */
void urcu_end_waits(struct urcu *all);

#endif

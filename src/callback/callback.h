/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Callbacks: queues by owning thread, collection, invocation within a budget, barrier goals, bulk frees, policies.
 *
 * Knows: records and leaves, cookies, settings.  Must not know: drivers, daemons, how threads are woken.
 *
 * The way of a callback:
 *  stage    entered by             leaves by               guarded by
 *  inbox    callback_enqueue()     callback_collect()      wait-free; collection under the queues lock
 *  waiting  callback_collect()     callback_advance()      queues lock
 *  ready    callback_advance()     callback_invoke()       queues lock
 *  batch    callback_invoke()      its function is called  the queue's claim
 *
 * A queue is invoked in order, by one invoker at a time.
 *
 * INV-CA1: the claim is held by the thread that runs a batch of the queue, and by nobody else.
 * INV-CA2: a queue's pointers are freed in the order of their numbers.
 */
#ifndef RTRCU_CALLBACK_CALLBACK_H
#define RTRCU_CALLBACK_CALLBACK_H

#include <stdlib.h>

#include "callback/marks.h"
#include "callback/queue.h"
#include "config/config.h"
#include "section/section.h"

/* pending >> this is the batch limit of a big backlog, as in the Linux kernel (rcu_divisor). */
#define CALLBACK_DIVISOR 7

/* Pointers in a block of rcu_free(), and those with a function of rcu_retire(); few where checks are on, so that full
 * blocks are common. */
#define CALLBACK_FREE_POINTERS (CHECK_DEBUG ? 3 : 500)
#define CALLBACK_FREE_RETIRED (CHECK_DEBUG ? 2 : 250)

/* Bit of slot.free_block: the owner has its blocks out, and nobody else touches them.  Set and cleared by the owner; a
 * fork's child clears it for an owner that it does not have. */
#define CALLBACK_FREE_OUT ((uintptr_t)1)

/* An owner of whose ready callbacks none returns for so long loses them to a daemon. */
#define CALLBACK_OWNER_LATE_NS 100000000

/* Of the set of queued heads; release builds have none. */
#define CALLBACK_DOUBLE_SLOTS (CHECK_DEBUG ? 65536 : 1)
#define CALLBACK_DOUBLE_MORE (CHECK_DEBUG ? 8 : 1)
/* Objects that are noted in debug builds. */
#define CALLBACK_OBJECTS (CHECK_DEBUG ? 16 : 1)

/* What one thread has queued. */
struct callback_slot {
    int64_t deadline_ns;        /* atomic: of the owner alone; taken back under the leaf lock when it has gone */
    int64_t throttled_until_ns; /* atomic: policy throttle: no callback before; as deadline_ns */
    int64_t oldest_ns;          /* atomic: when the inbox went from empty to not empty; written by the owner, a hint */
    int64_t oldest_ready_ns;    /* atomic: the same for what is ready, 0 = nothing; written under the queues lock */
    int64_t idle_since_ns;      /* when returned_seen last changed while some were ready; under the queues lock */
    uint64_t returned_seen;     /* callbacks and frees that had returned at the driver's last look; likewise */
    uint32_t quota;         /* atomic: policy krcud: callbacks that run before its rule is asked; refilled when more is
                                ready */
    uint32_t punted;        /* atomic: policy krcud: its rule has left ready ones to a daemon, until more is ready */
    uint32_t made_ready;    /* atomic: times that callbacks became ready; written under the queues lock */
    uint32_t owner_waits;   /* atomic: the owner waits until some have returned; written by the owner */
    void *free_block;       /* atomic: rcu_free()'s newest block, NULL = none; CALLBACK_FREE_OUT */
    uint64_t free_queued;   /* atomic: pointers given to rcu_free() and rcu_retire(); written by the owner */
    uint64_t free_check_at; /* atomic: as queue.look_at, of pointers */
    uint64_t free_done;     /* atomic: of these, freed; written by the claim's owner */
    uint64_t free_started;  /* atomic: with the one that the claim's owner is freeing; for fork */
    uint64_t free_goal;     /* rcu_barrier() waits for this number; under the barrier lock */
    struct cb_queue queue;
    int64_t waiting_ns[2];  /* atomic: as oldest_ns, of each segment that waits, 0 = it is empty; queues lock */
    int64_t batch_ns;       /* atomic: as oldest_ns, of the batch, 0 = it is empty; written by the claim's owner */
    uint64_t longest_ns;    /* atomic: that a callback has run; written by the claim's owner */
    rcu_callback_t longest; /* atomic: its function; likewise */
};

/* What the threads of one leaf have queued: slots as bits. */
struct callback_leaf {
    struct lock lock; /* the consumer side of its queues; a fork holds it, so that none is half moved in the child */
    uint32_t dirty;   /* atomic: inbox went from empty to not empty; set by owners, cleared by the collector */
    uint32_t waiting; /* atomic: callbacks wait for a grace period; written under the lock */
    uint32_t ready;   /* atomic: callbacks are ready, for the owner or a daemon; written under the lock */
    struct callback_slot slot[READER_FANOUT];
    /* Every batch counts here: by leaf, so that all threads do not write one line. */
    struct counter by_owner __attribute__((aligned(BASE_CACHE_LINE)));
    struct counter latency_us_log2[RTRCU_LATENCY_BUCKETS];
};

/* An object that contains functions of callbacks. */
struct callback_object {
    uint32_t state;          /* atomic: see unloaded.c */
    struct plat_object plat; /* by the thread that has made the state busy */
};

struct callback {
    struct reader_registry *registry;
    struct gp *gp;
    const struct config *config;
    struct callback_marks dirty_leaves; /* leaves that may have dirty inboxes [O27] */
    struct callback_marks busy_leaves;  /* where callbacks may wait or be ready; under the queues locks */
    struct tally barriers;              /* rcu_barrier() calls under way */
    struct counter over_qmax;
    struct counter blocked_at_qmax;
    struct counter limit_raised;
    struct counter deadline_stops;
    struct counter budget_stops;
    struct counter lost_at_fork;
    struct counter direct;
    struct counter direct_refused;
    struct counter limit_stops;
    struct counter frees_leaked;
    struct complaint long_callbacks;
    struct complaint_box message;                   /* of a deadline thread that invokes */
    struct rcu_head *queued[CALLBACK_DOUBLE_SLOTS]; /* atomic: checked builds, the set of queued heads: see double.c */
    struct rcu_head **queued_more[CALLBACK_DOUBLE_MORE]; /* atomic: its further tables, NULL = not allocated */
    struct callback_object object[CALLBACK_OBJECTS];     /* debug builds, see unloaded.c */
    bool tracks_heads;                                   /* constant: that set is kept */
    uint32_t rt_awake[PLAT_CPU_MAX];                     /* atomic: threads that said rcu_rt_awake(true) on that CPU */
};

static inline struct reader_registry *callback_registry(const struct callback *cb)
{
    return cb->registry;
}
void callback_init(struct callback *cb, const struct config *config, struct gp *gp);
void callback_leaf_init(struct callback_leaf *part, struct reader_leaf *leaf);

/* For complain_by(): a deadline thread writes no message about the callbacks that it runs. */
static inline struct complaint_box *callback_message_box(struct callback *cb)
{
    return reader_self_is(READER_STATE_DEADLINE) ? &cb->message : NULL;
}
/* Does such a message wait for a thread that may write? */
static inline bool callback_message_waits(const struct callback *cb)
{
    return complaint_box_is_full(&cb->message);
}
/* False: none does. */
static inline bool callback_message_write(struct callback *cb)
{
    return complaint_box_write(&cb->message);
}

static inline struct callback_leaf *callback_leaf(const struct reader_leaf *leaf)
{
    return (struct callback_leaf *)reader_part(leaf, READER_CALLBACK);
}

static inline struct callback_slot *callback_slot(const struct reader_record *record)
{
    return &callback_leaf(reader_leaf_of(record))->slot[reader_slot(record)];
}

/* The queues lock of @leaf. */
static inline void callback_queues_lock(const struct reader_leaf *leaf)
{
    lock_acquire(&callback_leaf(leaf)->lock);
}
static inline bool callback_queues_try_lock(const struct reader_leaf *leaf)
{
    return lock_try(&callback_leaf(leaf)->lock);
}
static inline void callback_queues_unlock(const struct reader_leaf *leaf)
{
    lock_release(&callback_leaf(leaf)->lock);
}

/* Words that are written under the queues lock, and looked at without it. */
static inline void callback_bits_set(uint32_t *word, uint32_t bits)
{
    rtrcu_store_relaxed(word, *word | bits);
}

static inline void callback_bits_clear(uint32_t *word, uint32_t bits)
{
    rtrcu_store_relaxed(word, *word & ~bits);
}

/* What this room tells other processes. */
extern const struct inspect_table callback_inspect_table;
/* Fill in what this room counts. */
void callback_stats(const struct callback *cb, struct rtrcu_stats *stats);

/* ---- enqueue: enqueue.c ---- */

/* A set: what the caller must see to. */
enum callback_enqueued {
    CALLBACK_DONE = 0,
    CALLBACK_FIRST = 1 << 0,        /* the inbox was empty: the driver must hear of it */
    CALLBACK_CHECK_LIMITS = 1 << 1, /* the owner should look at its limits */
    CALLBACK_NO_MEMORY = 1 << 2,    /* of callback_free(): nothing is queued, but a full block may have come back */
};

/* Queue @head for the calling thread.  Wait-free on a registered thread. */
enum callback_enqueued callback_enqueue(struct callback *cb, struct reader_record *record, struct rcu_head *head,
                                        rcu_callback_t func);

/* In the order in which they rise.  FULL: the backlog is qmax; OVER: it is above. */
enum callback_pressure { CALLBACK_CALM, CALLBACK_PUSH, CALLBACK_FULL, CALLBACK_OVER };
/* Compare the backlog with qhimark and qmax, and say when to look again. */
enum callback_pressure callback_check_limits(struct callback *cb, struct reader_record *record);
/* Callbacks and frees queued and not yet returned. */
uint64_t callback_pending(const struct reader_record *record);
/* Those that have returned. */
static inline uint64_t callback_returned(const struct reader_record *record)
{
    const struct callback_slot *slot = callback_slot(record);
    return rtrcu_load_acquire(&slot->queue.invoked) + rtrcu_load_acquire(&slot->free_done);
}
/* The owner looks at its limits at its next call; all owners do. */
void callback_check_again(struct reader_record *record);
void callback_check_again_all(struct callback *cb);
/* Count an enqueue that went through above qmax, one that waits at qmax, and a pointer that could not be queued; the
 * last returns true for the first. */
void callback_count_over_qmax(struct callback *cb);
void callback_count_blocked(struct callback *cb);
bool callback_count_leaked(struct callback *cb);
/* The owner's next deadline, 0 = none; set by the owner. */
static inline int64_t callback_deadline(const struct reader_record *record)
{
    return rtrcu_load_relaxed(&callback_slot(record)->deadline_ns);
}
static inline void callback_set_deadline(struct reader_record *record, int64_t deadline_ns)
{
    rtrcu_store_relaxed(&callback_slot(record)->deadline_ns, deadline_ns);
}
/* Times that callbacks of @record became ready: a hint of whether more have since. */
static inline uint32_t callback_times_ready(const struct reader_record *record)
{
    return rtrcu_load_relaxed(&callback_slot(record)->made_ready);
}

/* The inbox of @record has gone from empty to not empty. */
void callback_mark_new(struct callback *cb, const struct reader_record *record);

/* ---- collection: collect.c ---- */

/* Give every new callback the cookie of a grace period, and ask for it.  True if there was any. */
bool callback_collect(struct callback *cb);

/* Has any thread queued something that has not been collected? */
bool callback_anything_new(struct callback *cb);
/* Slots of @leaf with callbacks that wait or are ready, and with ready ones, as bits.  Without the lock: hints. */
static inline uint32_t callback_busy_slots(const struct reader_leaf *leaf)
{
    const struct callback_leaf *part = callback_leaf(leaf);
    return rtrcu_load_relaxed(&part->waiting) | rtrcu_load_relaxed(&part->ready);
}
/* The way through the leaves that may have such: the next behind @leaf, the first behind NULL; NULL: none has. */
static inline struct reader_leaf *callback_next_busy(const struct callback *cb, const struct reader_leaf *leaf)
{
    return callback_next_marked(&cb->busy_leaves, cb->registry, leaf);
}
/* That way leaves @leaf out from now on, if it has none.  Under its queues lock. */
void callback_unmark_if_empty(struct callback *cb, struct reader_leaf *leaf);
static inline uint32_t callback_ready(const struct reader_leaf *leaf)
{
    return rtrcu_load_relaxed(&callback_leaf(leaf)->ready);
}

enum callback_server { CALLBACK_NOBODY, CALLBACK_OWNER, CALLBACK_DAEMON };
/* Move what is ready; say who should invoke it: the owner loses its callbacks to a daemon when none returns for a
 * while.  Under the queues lock, and the leaf lock. */
enum callback_server callback_advance(struct callback *cb, struct reader_record *record, int64_t now);

/* ---- invocation: invoke.c ---- */

/* An embedded head within the first page: rcu_free_head() puts its offset, and 1, where the function would be. */
#define CALLBACK_FREE_OFFSET_MAX 4096

static inline bool callback_is_free_head(rcu_callback_t func)
{
    return (uintptr_t)func <= CALLBACK_FREE_OFFSET_MAX;
}

/* The function that callback_call() calls, for reports. */
static inline rcu_callback_t callback_function(rcu_callback_t func)
{
    return callback_is_free_head(func) ? (rcu_callback_t)free : func;
}

static inline void callback_call(struct rcu_head *head, rcu_callback_t func)
{
    CALL_PROGRAM();
    if (callback_is_free_head(func))
        free((char *)head - ((uintptr_t)func - 1));
    else
        func(head);
}

/* Value: what a batch may take. */
struct callback_budget {
    uint64_t count_max;
    /* Before each callback after @sure of them: true ends the batch.  NULL = never. */
    bool (*must_stop)(const struct callback *cb, const struct reader_record *record);
    uint64_t sure;
    int64_t end_ns;      /* CLOCK_MONOTONIC, 0 = none */
    int64_t deadline_ns; /* as end_ns; counted apart */
    bool may_wait;       /* for the queues lock; a deadline thread may not */
    bool by_owner;
    const struct tally *stop; /* begin no callback once it is not 0; NULL = nobody stops us */
};

/* Value: what came of one invocation. */
struct callback_run {
    uint64_t done; /* callbacks and frees that have returned */
    bool claimed;  /* none: another thread has the claim */
    bool wanted;   /* another thread found our claim meanwhile: the driver must be notified that it has ended */
    bool stopped;  /* must_stop() ended it before the last */
};
/* Invoke what is ready. */
struct callback_run callback_invoke(struct callback *cb, struct reader_record *record,
                                    const struct callback_budget *budget);
/* The thread that has the claim tells the driver when it lets go.  False: nobody has it.  A claim that ends by an
 * exception or with its thread is told of by nobody: the driver's tick finds the queue. */
bool callback_want(struct reader_record *record);
/* At the end of a thread: a callback in its hands has ended it. */
void callback_thread_ends(struct callback *cb);
bool callback_has_ready(const struct reader_record *record);
/* Value: what came of a call of the owner that may invoke. */
struct callback_own {
    uint64_t done; /* have returned */
    bool punted;   /* what is left belongs to a daemon, in front of its list */
    bool wanted;   /* a daemon came for it meanwhile: the driver is to be told */
};
/* The calling thread invokes its own as far as the policy allows; @requested_ns as rcu_process_callbacks() takes it. */
struct callback_own callback_invoke_own(struct callback *cb, int64_t requested_ns);
/* Ready callbacks that the owner is to run: its next quiescent state takes the slow path. */
void callback_request_owner(struct callback *cb);
/* The thread of @record is gone: let its slot go once everything has returned.  Under the leaf lock. */
void callback_release_slot(struct reader_record *record);

/* ---- the limit of a batch: limit.c ---- */

/* max(blimit, pending >> divisor); no limit between qhimark and qlowmark. */
uint64_t callback_count_limit(struct callback *cb, struct reader_record *record);

/* ---- policies: policy_*.c, table in policy.c ---- */

struct callback_policy {
    const char *name;
    bool owner_runs; /* in rcu_quiescent_state() and rcu_process_callbacks() */
    bool punts;      /* what the owner leaves goes to a daemon, at the head of its list */
    /* What the owner may do in a call; @requested_ns as rcu_process_callbacks() takes it. */
    void (*owner_budget)(struct callback *cb, struct reader_record *record, int64_t requested_ns,
                         struct callback_budget *budget);
    /* The owner has ended a batch by @run, and left some if @left.  NULL = the policy keeps nothing of it. */
    void (*owner_done)(struct callback *cb, struct reader_record *record, const struct callback_run *run, bool left);
};

extern const struct callback_policy callback_policy_daemon, callback_policy_inline, callback_policy_unbounded,
    callback_policy_krcud, callback_policy_throttle;
/* NULL if this version has none of that number. */
const struct callback_policy *callback_policy_of(int32_t policy);
/* Does what an owner leaves go to a daemon, at the head of its list? */
static inline bool callback_punts(const struct callback *cb)
{
    return callback_policy_of(config_now(cb->config)->policy)->punts;
}

/* Does real-time work wait for this CPU, or would one more callback run past the owner's deadline?  (policy krcud) */
bool callback_rt_waits(const struct callback *cb, const struct reader_record *record);
void callback_rt_awake(struct callback *cb, bool awake);

/* ---- direct invocation: direct.c ---- */

/* Run @func(@head) now, if no other reader can exist and this thread is in no section.  False: it must be queued. */
bool callback_direct(struct callback *cb, struct rcu_head *head, rcu_callback_t func, bool in_handler);

/* While the owner waits for callbacks of its own, daemons invoke them. */
void callback_owner_waits(const struct reader_record *record, bool waits);

/* ---- barrier: barrier.c ---- */

/* While rcu_barrier() is under way daemons invoke everything. */
void callback_barrier_begin(struct callback *cb);
void callback_barrier_end(struct callback *cb);
/* Under the barrier lock: remember for every queue the number of its last callback. */
void callback_barrier_set(struct callback *cb);
/* Have all of them returned? */
bool callback_barrier_reached(struct callback *cb);
/* How many of @record's have not? */
uint64_t callback_barrier_left(const struct reader_record *record);
/* Value: what a report says of one queue that is waited for. */
struct callback_barrier_view {
    uint64_t left; /* callbacks and frees that have not returned */
    struct plat_tid invoker;
    uintptr_t running; /* function of the callback or free under way, 0 = none */
};
void callback_barrier_read(const struct reader_record *record, struct callback_barrier_view *view);

/* ---- bulk frees: free.c ---- */

typedef void (*callback_retire_t)(void *object);
/* Value: what to call once its grace period is over. */
struct callback_retired {
    void *object;
    callback_retire_t function;
};
/* Note it in a block of the thread's. */
enum callback_enqueued callback_free(struct callback *cb, struct reader_record *record,
                                     struct callback_retired retired);
/* Take the thread's blocks, which get no pointer any more, in order.  Under the queues lock. */
struct cb_chain callback_free_collect(struct reader_record *record);
bool callback_is_free_block(rcu_callback_t func);
/* Under the claim: call the function of the next pointer of the block at the head of the batch; the block goes with its
 * last one. */
void callback_free_one(struct reader_record *record);
/* Which function is that? */
callback_retire_t callback_free_next(const struct reader_record *record);
/* In a fork's child: a thread that is not there had freed the last pointer of the block at the head of the batch. */
void callback_free_drop_spent(struct reader_record *record);
/* In a fork's child: a thread that is not there had its blocks out. */
void callback_free_repair(struct reader_record *record);
/* Pointers not begun in the block of @head, and in the blocks not collected. */
uint64_t callback_free_count(const struct reader_record *record, const struct rcu_head *head);
uint64_t callback_free_count_open(const struct reader_record *record);

/* ---- heads queued twice: double.c ---- */

/* Checked builds: enter @head into the set of queued heads; ends the program with a message if it is there already. */
void callback_double_enter(struct callback *cb, struct rcu_head *head);
/* Remove @head, whose callback begins. */
void callback_double_leave(struct callback *cb, struct rcu_head *head);

/* ---- code that was unloaded: unloaded.c; debug builds ---- */

/* At call_rcu(): the object that contains @func, by which a report names it later. */
void callback_code_note(struct callback *cb, rcu_callback_t func);
/* Before a call of @func: ends the program with a message where its code is no longer in memory. */
void callback_code_check(const struct callback *cb, const struct reader_record *record, rcu_callback_t func);

/* ---- fork: fork.c ---- */

/* Nobody moves callbacks from one stage to the next meanwhile.  Owners go on queueing, and an invoker its batch. */
void callback_before_fork(struct callback *cb);
void callback_after_fork_parent(struct callback *cb);
/* In the child, for every queue: open links, batches under way, claims of threads that are not there. */
void callback_after_fork_child(struct callback *cb, struct plat_tid old_thread_id);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Callbacks: queues by owning thread, collection, invocation within a budget, barrier goals, bulk frees, policies.
 *
 * Knows: records and leaves, cookies, settings.  Must not know: drivers, daemons, how threads are woken.
 *
 * The stages of a callback:
 *  stage    entered by             leaves by               guarded by
 *  inbox    callback_enqueue()     callback_collect()      wait-free; collection under the queues lock
 *  waiting  callback_collect()     callback_advance()      queues lock
 *  ready    callback_advance()     callback_invoke()       queues lock
 *  batch    callback_invoke()      its function is called  the queue's claim
 *
 * A queue is invoked in order, by one invoker at a time.
 *
 * INV-CA1: only the thread that holds the claim runs a batch of the queue.
 * INV-CA2: a queue's pointers are freed in the order of their numbers.
 * INV-CA3: no more callbacks and frees have returned than were collected.
 */
#ifndef RTRCU_CALLBACK_CALLBACK_H
#define RTRCU_CALLBACK_CALLBACK_H

#include <stdlib.h>

#include "callback/marks.h"
#include "callback/queue.h"
#include "config/config.h"
#include "section/section.h"

/* The batch limit of a large backlog is pending >> this, as in the Linux kernel (rcu_divisor). */
#define CALLBACK_DIVISOR 7

/* Capacity of a block of rcu_free(), and of rcu_retire(), whose pointers each have a function; small in checked builds,
 * so that full blocks are common. */
#define CALLBACK_FREE_POINTERS (CHECK_DEBUG ? 3 : 500)
#define CALLBACK_FREE_RETIRED (CHECK_DEBUG ? 2 : 250)

/* Bit of slot.free_block: the owner has detached its blocks, and no other thread touches them.  Set and cleared by the
 * owner; a fork's child clears the bit if the owner does not exist in the child. */
#define CALLBACK_FREE_OUT ((uintptr_t)1)

/* qmax_process = 0: the larger of this many times qmax, and this number. */
#define CALLBACK_PROCESS_FACTOR 16
#define CALLBACK_PROCESS_MIN 1000000

/* If none of an owner's ready callbacks returns for this long, a daemon runs them. */
#define CALLBACK_OWNER_LATE_NS 100000000

/* Size of the set of queued heads; release builds have none. */
#define CALLBACK_DOUBLE_SLOTS (CHECK_DEBUG ? 65536 : 1)
#define CALLBACK_DOUBLE_MORE (CHECK_DEBUG ? 8 : 1)
/* Number of loaded objects (the program, shared libraries) that debug builds record as containing callbacks' code:
 * unloaded.c. */
#define CALLBACK_OBJECTS (CHECK_DEBUG ? 16 : 1)

/* Whether an owner makes the calls that run its callbacks.  NEVER_CALLED: not so far; CALLED: yes; CALL_MISSED: not so
 * far, although its callbacks are late; MISS_REPORTED: as CALL_MISSED, and the report has been printed. */
enum callback_calls { CALLBACK_NEVER_CALLED, CALLBACK_CALLED, CALLBACK_CALL_MISSED, CALLBACK_MISS_REPORTED };

/* The queue of one thread, with its times and counters. */
struct callback_slot {
    int64_t deadline_ns;        /* atomic: written by the owner; cleared under the leaf lock after the owner's exit */
    int64_t throttled_until_ns; /* atomic: policy throttle: no callback before this time; written as deadline_ns is */
    int64_t oldest_ns;          /* atomic: when the inbox ceased to be empty; written by the owner, a hint */
    int64_t oldest_ready_ns;    /* atomic: oldest_ns of the ready callbacks, 0 = none ready; under the queues lock */
    int64_t idle_since_ns;      /* when returned_seen last changed while callbacks were ready; under the queues lock */
    uint64_t returned_seen;     /* callbacks and frees that had returned at the driver's last pass; under the queues
                                   lock */
    uint32_t quota;      /* atomic: policy krcud: callbacks that run before the policy's rule is checked; refilled
                               when more callbacks become ready */
    uint32_t punted;     /* atomic: policy krcud: the policy's rule has left ready callbacks to a daemon, until more
                               callbacks become ready */
    uint32_t made_ready; /* atomic: number of times that callbacks became ready; written under the queues lock */
    uint32_t calls;      /* atomic: enum callback_calls: whether its owner makes the calls that run callbacks; CALLED is
                            written by the owner, the other values by a dispatching thread */
    uint32_t owner_waits;   /* atomic: the owner waits until callbacks have returned; written by the owner */
    void *free_block;       /* atomic: newest block of rcu_free(), NULL = none; plus bit CALLBACK_FREE_OUT */
    uint64_t free_queued;   /* atomic: pointers passed to rcu_free() and rcu_retire(); written by the owner */
    uint64_t free_check_at; /* atomic: value of free_queued at which the owner checks the limits again */
    uint64_t free_done;     /* atomic: pointers freed; written by the claim's owner */
    uint64_t free_started;  /* atomic: pointers freed, and the one that the claim's owner is freeing; for fork */
    uint64_t free_goal;     /* rcu_barrier() waits for this number; under the barrier lock */
    struct cb_queue queue;
    int64_t waiting_ns[2];  /* atomic: oldest_ns of each waiting segment, 0 = it is empty; under the queues lock */
    int64_t batch_ns;       /* atomic: oldest_ns of the batch, 0 = it is empty; written by the claim's owner */
    uint64_t collected;     /* callbacks and frees that bound.collected counts; under the queues lock */
    uint64_t returned;      /* callbacks and frees that bound.returned counts; by the claim's owner */
    uint64_t longest_ns;    /* atomic: longest duration of a callback; written by the claim's owner */
    rcu_callback_t longest; /* atomic: function of that callback; written by the claim's owner */
};

/* The queues of one leaf's threads: slots as bits. */
struct callback_leaf {
    struct lock lock; /* the consumer side of the leaf's queues; fork() holds it, so no child finds a half moved head */
    uint32_t dirty;   /* atomic: slots whose inbox ceased to be empty; set by owners, cleared by the collector */
    uint32_t waiting; /* atomic: slots with waiting callbacks; written under the lock */
    uint32_t ready;   /* atomic: slots with ready callbacks, for the owner or a daemon; written under the lock */
    struct callback_slot slot[READER_FANOUT];
    /* Updated by every batch.  Each leaf has its own counters, so that not all threads write the same line. */
    struct counter by_owner __attribute__((aligned(BASE_CACHE_LINE)));
    struct counter latency_us_log2[RTRCU_LATENCY_BUCKETS];
};

/* An object that contains functions of callbacks. */
struct callback_object {
    uint32_t state;          /* atomic: see unloaded.c */
    struct plat_object plat; /* written by the thread that has made the state busy */
};

/* The backlog of the whole process: see bound.c. */
struct callback_bound {
    uint64_t collected __attribute__((aligned(BASE_CACHE_LINE))); /* atomic: [O40] callbacks and frees collected */
    struct tally queues;                                          /* number of queues with collected callbacks */
    uint64_t returned __attribute__((aligned(BASE_CACHE_LINE)));  /* atomic: [O40] collected callbacks and frees that
                                                                     have returned */
    /* atomic: [O40] 0 or 1: set when the backlog exceeds qmax_process, cleared when it has fallen to 7/8 of that limit;
     * written by callback_bound_judge() alone. */
    uint32_t raised __attribute__((aligned(BASE_CACHE_LINE)));
};

struct callback {
    struct reader_registry *registry;
    struct gp *gp;
    const struct config *config;
    struct callback_marks dirty_leaves; /* leaves that may have dirty inboxes [O27] */
    struct callback_marks busy_leaves;  /* leaves where callbacks may wait or be ready; under the queues locks */
    struct tally barriers;              /* rcu_barrier() calls in progress */
    struct callback_bound bound;
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
    struct complaint missed_calls;
    struct complaint_box message; /* a message of a deadline thread, which another thread must print */
    struct rcu_head *queued[CALLBACK_DOUBLE_SLOTS]; /* atomic: checked builds, the set of queued heads: see double.c */
    struct rcu_head **queued_more[CALLBACK_DOUBLE_MORE]; /* atomic: further tables of the set, NULL = not allocated */
    struct callback_object object[CALLBACK_OBJECTS];     /* debug builds, see unloaded.c */
    bool tracks_heads;                                   /* constant: the set is maintained */
    uint32_t rt_awake[PLAT_CPU_MAX];                     /* atomic: number of threads in rcu_rt_awake(true) on that
                                                            CPU */
};

static inline struct reader_registry *callback_registry(const struct callback *cb)
{
    return cb->registry;
}
void callback_init(struct callback *cb, const struct config *config, struct gp *gp);
void callback_leaf_init(struct callback_leaf *part, struct reader_leaf *leaf);

/* The box for complain_by(), in which a deadline thread leaves messages about its callbacks; NULL: the calling thread
 * may print them. */
static inline struct complaint_box *callback_message_box(struct callback *cb)
{
    return reader_self_is(READER_STATE_DEADLINE) ? &cb->message : NULL;
}
/* Does a message wait for a thread that may print? */
static inline bool callback_message_waits(const struct callback *cb)
{
    return complaint_box_is_full(&cb->message);
}
/* Print the waiting message.  False: none waits. */
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

/* Set or clear bits of a word that is written under the queues lock and read without it. */
static inline void callback_bits_set(uint32_t *word, uint32_t bits)
{
    rtrcu_store_relaxed(word, *word | bits);
}

static inline void callback_bits_clear(uint32_t *word, uint32_t bits)
{
    rtrcu_store_relaxed(word, *word & ~bits);
}

/* Fields that this room shows to other processes. */
extern const struct inspect_table callback_inspect_table;
/* Fill in the counters of this room. */
void callback_stats(const struct callback *cb, struct rtrcu_stats *stats);

/* ---- enqueue: enqueue.c ---- */

/* Result of queueing: a set of actions for the caller. */
enum callback_enqueued {
    CALLBACK_DONE = 0,
    CALLBACK_FIRST = 1 << 0,        /* the inbox was empty: notify the driver */
    CALLBACK_CHECK_LIMITS = 1 << 1, /* the owner should check its limits */
    CALLBACK_NO_MEMORY = 1 << 2,    /* from callback_free(): nothing is queued, but a full block may have been
                                       returned */
};

/* Queue @head for the calling thread.  Wait-free on a registered thread. */
enum callback_enqueued callback_enqueue(struct callback *cb, struct reader_record *record, struct rcu_head *head,
                                        rcu_callback_t func);

/* Ordered by severity.  FULL: the backlog equals callback_full_at(); OVER: the backlog exceeds it. */
enum callback_pressure { CALLBACK_CALM, CALLBACK_PUSH, CALLBACK_FULL, CALLBACK_OVER };
/* Compare the backlog with qhimark and callback_full_at(), and set the number at which the owner checks again. */
enum callback_pressure callback_check_limits(struct callback *cb, struct reader_record *record);
/* Number of callbacks and frees of @record that are queued and have not returned. */
uint64_t callback_pending(const struct reader_record *record);
/* Number of callbacks and frees of @record that have returned. */
static inline uint64_t callback_returned(const struct reader_record *record)
{
    const struct callback_slot *slot = callback_slot(record);
    return rtrcu_load_acquire(&slot->queue.invoked) + rtrcu_load_acquire(&slot->free_done);
}
/* Make the owner of @record, or all owners, check the limits at the next enqueue. */
void callback_check_again(struct reader_record *record);
void callback_check_again_all(struct callback *cb);
/* Counters: enqueues that succeeded above qmax, enqueues that waited at qmax, and pointers that could not be queued.
 * callback_count_leaked() returns true for the first leaked pointer. */
void callback_count_over_qmax(struct callback *cb);
void callback_count_blocked(struct callback *cb);
bool callback_count_leaked(struct callback *cb);
/* The owner's next deadline, 0 = none; as set by the owner. */
static inline int64_t callback_deadline(const struct reader_record *record)
{
    return rtrcu_load_relaxed(&callback_slot(record)->deadline_ns);
}
static inline void callback_set_deadline(struct reader_record *record, int64_t deadline_ns)
{
    rtrcu_store_relaxed(&callback_slot(record)->deadline_ns, deadline_ns);
}
/* Number of times that callbacks of @record became ready.  If the number has changed, more callbacks may be ready. */
static inline uint32_t callback_times_ready(const struct reader_record *record)
{
    return rtrcu_load_relaxed(&callback_slot(record)->made_ready);
}

/* Mark the inbox of @record, which was empty, for the collector. */
void callback_mark_new(struct callback *cb, const struct reader_record *record);

/* ---- the bound of the process: bound.c, share.c ---- */

/* The backlog of the process above which shares are in force. */
uint64_t callback_process_limit(const struct callback *cb);
/* The callbacks of the process that have returned, counted after each batch. */
static inline uint64_t callback_bound_returned(const struct callback *cb)
{
    return rtrcu_load_acquire(&cb->bound.returned);
}
/* Is the backlog of the process above its limit, so that shares are in force? */
static inline bool callback_bound_is_exceeded(const struct callback *cb)
{
    return rtrcu_load_relaxed(&cb->bound.raised) != 0;
}
/* The backlog of one queue at which backpressure acts: qmax, or its share of qmax_process if that is less. */
uint64_t callback_full_at(const struct callback *cb);
static inline bool callback_is_full(const struct callback *cb, const struct reader_record *record)
{
    return callback_pending(record) >= callback_full_at(cb);
}
/* Set or clear the flag by which shares are in force, and have owners check their limits if it is set.  With no lock
 * held. */
void callback_bound_judge(struct callback *cb);
/* Under the queues lock, after the inbox was taken: count the callbacks queued since the last call. */
void callback_bound_collect(struct callback *cb, struct callback_slot *slot);
/* Under the claim: count the callbacks that have returned since the last call. */
void callback_bound_return(struct callback *cb, struct callback_slot *slot);
/* Update the number of busy queues after a change of the bits of @record, which @was busy before.  Under the queues
 * lock. */
void callback_bound_count(struct callback *cb, const struct reader_record *record, bool was);
void callback_bound_after_fork_child(struct callback *cb);

/* ---- collection: collect.c ---- */

/* Assign a cookie to every new callback, and request its grace period.  True if there were any. */
bool callback_collect(struct callback *cb);

/* Has any thread queued callbacks that have not been collected? */
bool callback_anything_new(struct callback *cb);
/* Slots of @leaf with waiting or ready callbacks, as bits; callback_ready() has those with ready ones.  Hints, without
 * the lock. */
static inline uint32_t callback_busy_slots(const struct reader_leaf *leaf)
{
    const struct callback_leaf *part = callback_leaf(leaf);
    return rtrcu_load_relaxed(&part->waiting) | rtrcu_load_relaxed(&part->ready);
}
static inline bool callback_is_busy(const struct reader_record *record)
{
    return callback_busy_slots(reader_leaf_of(record)) & reader_bit(record);
}
/* Iterate over leaves that may have busy slots: the next after @leaf, the first for NULL; NULL: none. */
static inline struct reader_leaf *callback_next_busy(const struct callback *cb, const struct reader_leaf *leaf)
{
    return callback_next_marked(&cb->busy_leaves, cb->registry, leaf);
}
/* If @leaf has no busy slots, callback_next_busy() skips it from now on.  Under its queues lock. */
void callback_unmark_if_empty(struct callback *cb, struct reader_leaf *leaf);
static inline uint32_t callback_ready(const struct reader_leaf *leaf)
{
    return rtrcu_load_relaxed(&callback_leaf(leaf)->ready);
}

enum callback_server { CALLBACK_NOBODY, CALLBACK_OWNER, CALLBACK_DAEMON };
/* Move callbacks that have become ready.  Returns the thread that should invoke them: the owner, or a daemon if none of
 * the owner's ready callbacks has returned for a while.  Under the queues lock, and the leaf lock. */
enum callback_server callback_advance(struct callback *cb, struct reader_record *record, int64_t now);
/* Report an owner under policy inline whose callbacks went to a daemon because it never makes the calls that run them.
 * With no lock held. */
void callback_report_missed_call(struct callback *cb, const struct reader_record *record);

/* ---- invocation: invoke.c ---- */

/* For a head within the first 4,096 bytes of its object, rcu_free_head() stores the offset of the head, plus 1, in
 * place of the function. */
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

/* Value: the limits of a batch. */
struct callback_budget {
    uint64_t count_max;
    /* Checked before each callback after the first @sure: true ends the batch.  NULL = never. */
    bool (*must_stop)(const struct callback *cb, const struct reader_record *record);
    uint64_t sure;
    int64_t end_ns;           /* CLOCK_MONOTONIC, 0 = none */
    int64_t deadline_ns;      /* as end_ns, but a batch that stops at this time counts in deadline_stops */
    bool may_wait;            /* may wait for the queues lock; false for a deadline thread */
    bool by_owner;            /* the queue's owner invokes the batch, which counts in callback_leaf.by_owner */
    const struct tally *stop; /* begin no callback once this tally is not 0; NULL = never stop */
};

/* Value: the result of one invocation. */
struct callback_run {
    uint64_t done; /* callbacks and frees that have returned */
    bool claimed;  /* no callback ran, since another thread holds the claim */
    bool wanted;   /* another thread found the claim held meanwhile: notify the driver that the claim has ended */
    bool stopped;  /* must_stop() ended the batch before its last callback */
};
/* Invoke ready callbacks. */
struct callback_run callback_invoke(struct callback *cb, struct reader_record *record,
                                    const struct callback_budget *budget);
/* Make the holder of @record's claim notify the driver when it releases the claim.  False: no thread holds the claim.
 * If the claim ends by an exception or with its thread, no thread notifies the driver, whose tick finds the queue. */
bool callback_want(struct reader_record *record);
/* Called at a thread's exit.  If a callback ended the thread, release the claim that it held. */
void callback_thread_ends(struct callback *cb);
bool callback_has_ready(const struct reader_record *record);
/* Value: the result of an owner's call that may invoke. */
struct callback_own {
    uint64_t done; /* callbacks that have returned */
    bool punted;   /* a daemon runs the remaining callbacks: the queue is at the head of the daemon's list */
    bool wanted;   /* a daemon found the claim held meanwhile: notify the driver */
    bool stuck;    /* callbacks were ready, and the call could run none */
};
/* Invoke the calling thread's own callbacks as far as the policy allows; @requested_ns as in
 * rcu_process_callbacks(). */
struct callback_own callback_invoke_own(struct callback *cb, int64_t requested_ns);
/* If the calling thread has ready callbacks that it should run itself, its next quiescent state takes the slow path. */
void callback_request_owner(struct callback *cb);
/* The thread of @record has exited: release its slot once all of its callbacks have returned.  Under the leaf lock. */
void callback_release_slot(struct reader_record *record);

/* ---- the limit of a batch: limit.c ---- */

/* The limit of a batch: max(blimit, pending >> divisor).  Once the backlog has exceeded qhimark there is no limit,
 * until it has fallen to qlowmark. */
uint64_t callback_count_limit(struct callback *cb, struct reader_record *record);

/* ---- policies: policy_*.c, table in policy.c ---- */

struct callback_policy {
    const char *name;
    bool owner_runs; /* in rcu_quiescent_state() and rcu_process_callbacks() */
    bool punts;      /* a daemon runs the callbacks that the owner leaves; the queue goes to the head of its list */
    /* The owner's budget in a call; @requested_ns as in rcu_process_callbacks(). */
    void (*owner_budget)(struct callback *cb, struct reader_record *record, int64_t requested_ns,
                         struct callback_budget *budget);
    /* The owner has ended batch @run; @left: callbacks remain.  NULL = the policy keeps no state about it. */
    void (*owner_done)(struct callback *cb, struct reader_record *record, const struct callback_run *run, bool left);
};

extern const struct callback_policy callback_policy_daemon, callback_policy_inline, callback_policy_unbounded,
    callback_policy_krcud, callback_policy_throttle;
/* The policy of number @policy; NULL: this version of the library has no such policy. */
const struct callback_policy *callback_policy_of(int32_t policy);
/* Do owners run callbacks? */
static inline bool callback_owner_runs(const struct callback *cb)
{
    return callback_policy_of(config_now(cb->config)->policy)->owner_runs;
}
/* Does a daemon run the callbacks that an owner leaves, as the policy's `punts` states? */
static inline bool callback_punts(const struct callback *cb)
{
    return callback_policy_of(config_now(cb->config)->policy)->punts;
}

/* Does real-time work wait for this CPU, or would one more callback exceed the owner's deadline?  (policy krcud) */
bool callback_rt_waits(const struct callback *cb, const struct reader_record *record);
void callback_rt_awake(struct callback *cb, bool awake);

/* ---- direct invocation: direct.c ---- */

/* Run @func(@head) now, if no other reader can exist and this thread is in no section.  False: the caller must queue
 * it. */
bool callback_direct(struct callback *cb, struct rcu_head *head, rcu_callback_t func, bool in_handler);

/* Set whether the owner waits for its own callbacks; while it does, daemons invoke them. */
void callback_owner_waits(const struct reader_record *record, bool waits);

/* ---- barrier: barrier.c ---- */

/* Count the beginning and the end of a rcu_barrier() call; while one is in progress, daemons invoke all callbacks. */
void callback_barrier_begin(struct callback *cb);
void callback_barrier_end(struct callback *cb);
/* Under the barrier lock: store the number of the last callback of every queue. */
void callback_barrier_set(struct callback *cb);
/* Have the callbacks up to the stored numbers returned? */
bool callback_barrier_reached(struct callback *cb);
/* How many of @record's callbacks up to the stored number have not returned? */
uint64_t callback_barrier_left(const struct reader_record *record);
/* Value: a report's view of one queue that is waited for. */
struct callback_barrier_view {
    uint64_t left; /* callbacks and frees that have not returned */
    struct plat_tid invoker;
    uintptr_t running; /* function of the callback or free in progress, 0 = none */
};
void callback_barrier_read(const struct reader_record *record, struct callback_barrier_view *view);

/* ---- bulk frees: free.c ---- */

typedef void (*callback_retire_t)(void *object);
/* Value: the function to call once the grace period is over, and its argument. */
struct callback_retired {
    void *object;
    callback_retire_t function;
};
/* Store the pointer in a block of the thread. */
enum callback_enqueued callback_free(struct callback *cb, struct reader_record *record,
                                     struct callback_retired retired);
/* Take the thread's blocks in order; no pointer is added to them any more.  Under the queues lock. */
struct cb_chain callback_free_collect(struct reader_record *record);
bool callback_is_free_block(rcu_callback_t func);
/* Under the claim: call the function of the next pointer of the block at the head of the batch; the block is freed with
 * its last pointer. */
void callback_free_one(struct reader_record *record);
/* The function that callback_free_one() would call. */
callback_retire_t callback_free_next(const struct reader_record *record);
/* In a fork's child: drop the block at the head of the batch if a thread that does not exist had begun to free its last
 * pointer. */
void callback_free_drop_spent(struct reader_record *record);
/* In a fork's child: attach again the blocks that a thread of the parent had detached. */
void callback_free_repair(struct reader_record *record);
/* Number of pointers that have not been freed yet: callback_free_count() counts the block of @head,
 * callback_free_count_open() the record's blocks that are still being filled. */
uint64_t callback_free_count(const struct reader_record *record, const struct rcu_head *head);
uint64_t callback_free_count_open(const struct reader_record *record);

/* ---- heads queued twice: double.c ---- */

/* Where a head is queued: in the native domain, or in a domain that the program defined. */
enum callback_queued_to { CALLBACK_NATIVE, CALLBACK_OF_DOMAIN };
/* Checked builds: enter @head into the set of queued heads; if the set contains it already, end the program with a
 * message. */
void callback_double_enter(struct callback *cb, struct rcu_head *head, enum callback_queued_to to);
/* Remove @head from the set, since its callback is about to begin. */
void callback_double_leave(struct callback *cb, struct rcu_head *head, enum callback_queued_to to);
/* In a fork's child: remove the heads that were queued in domains that the program defined. */
void callback_double_after_fork(struct callback *cb);

/* ---- code that was unloaded: unloaded.c; debug builds ---- */

/* At call_rcu(): record the object that contains @func, for a later report. */
void callback_code_note(struct callback *cb, rcu_callback_t func);
/* Before a call of @func: ends the program with a message if its code is no longer in memory. */
void callback_code_check(const struct callback *cb, const struct reader_record *record, rcu_callback_t func);

/* ---- fork: fork.c ---- */

/* Keep all threads from moving callbacks between stages.  Owners still queue, and an invoker continues its batch. */
void callback_before_fork(struct callback *cb);
void callback_after_fork_parent(struct callback *cb);
/* In the child, repair every queue: open links, batches in progress, claims of threads that do not exist. */
void callback_after_fork_child(struct callback *cb, struct plat_tid old_thread_id);

#endif

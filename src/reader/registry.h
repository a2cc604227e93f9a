/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Records, the leaves that contain them, and the registry of all leaves. */
#ifndef RTRCU_READER_REGISTRY_H
#define RTRCU_READER_REGISTRY_H

#include <assert.h>

#include <rtrcu/rcu.h>

#include "reader/scanned.h"

#define READER_KINDS 2 /* number of kinds of grace period: normal, expedited */

/* A set of kinds of grace periods. */
struct reader_kinds {
    unsigned int bits; /* 1 << kind */
};

static inline bool reader_kinds_any(struct reader_kinds kinds)
{
    return kinds.bits != 0;
}

static inline bool reader_kinds_has(struct reader_kinds kinds, unsigned int kind)
{
    return kinds.bits & 1u << kind;
}

static inline void reader_kinds_add(struct reader_kinds *kinds, unsigned int kind)
{
    kinds->bits |= 1u << kind;
}

static inline void reader_kinds_join(struct reader_kinds *kinds, struct reader_kinds others)
{
    kinds->bits |= others.bits;
}

/* Higher rooms with a part in each leaf.  A slot is free when the rooms before READER_HOLDERS have released it; the
 * other parts keep no data of a thread that has exited. */
enum reader_room {
    READER_PARKED,
    READER_CALLBACK,
    READER_SERVE,
    READER_HOLDERS,
    READER_TURN = READER_HOLDERS,
    READER_ROOMS
};

struct reader_leaf;

/* The record of one thread, a cache line; a scan reads only this line and the thread's word. */
struct reader_record {
    struct rtrcu_thread *self; /* the owner's thread-local block; set before its bit, cleared under the leaf lock */
    const uint32_t *cpu;       /* where the kernel writes the number of the owner's CPU, NULL = unknown; set and cleared
                                  together with self */
    struct reader_leaf *leaf;  /* constant */
    uint32_t slot;             /* constant: bit number in the leaf */
    uint32_t thread_id;        /* atomic: id of the owner; written at registration, read for reports at any time */
    uint32_t fence_ack;        /* atomic: the mode that the owner has acknowledged; see fence_mode.c */
    uint32_t fence_armed;      /* value of armed before the confirming visit; written by the visiting thread */
    uint32_t armed;            /* number of times that another thread has set the owner's flag; under the leaf lock */
    uint32_t boost;            /* atomic: PI futex locked on the owner's behalf; see reader_boost() */
    uint32_t outside_scans;    /* consecutive scans that found the owner outside; under the leaf lock */
    uint32_t proposed_armed;   /* value of armed when the owner became a candidate; under the leaf lock */
    struct counter slow_calls; /* written by the owner */
} __attribute__((aligned(BASE_CACHE_LINE)));

static_assert(READER_FANOUT == 32, "the slots of a leaf are the bits of a word");
static_assert(sizeof(struct reader_record) == BASE_CACHE_LINE, "a record is a cache line");

struct reader_leaf {
    struct lock lock;
    uint32_t index;                /* constant */
    uint32_t used;                 /* atomic: slots taken */
    uint32_t registered;           /* atomic: slots of registered threads, whose words may be read; cleared under the
                                      lock */
    uint32_t draining;             /* under the lock: used slots whose thread has exited */
    uint32_t held[READER_HOLDERS]; /* under the lock: for each room, the draining slots that it has not released */
    uint32_t deadline[2];          /* atomic: slots of deadline threads: [0] preemptible, [1] with the quiescent-state
                             discipline */
    uint32_t quiescent;            /* atomic: slots of quiescent-state threads, online or not; written by owners */
    struct reader_scanned scanned; /* the threads that grace periods scan */
    void *of[READER_ROOMS];        /* constant: each room's part of this leaf */
    struct reader_record record[READER_FANOUT];
};

/* Value: layout of a leaf: one piece of zeroed memory with each room's part. */
struct reader_plan {
    size_t bytes;
    struct reader_leaf *(*lay_out)(void *memory);
};

/* Misuse by programs that the library reports and survives. */
enum reader_misuse {
    READER_MISUSE_UNLOCK,
    READER_MISUSE_OFFLINE,
    READER_MISUSE_EXIT,
    READER_MISUSE_WAIT,
    READER_MISUSE_TASK_LIST,
    READER_MISUSE_TASK_EXIT,
    READER_MISUSE_CALLBACK,
    READER_MISUSES
};

/* Readers without a record, by the phase in which they entered.  A task keeps the phase of the thread on which it
 * parked. */
enum reader_phase { READER_PHASE_EVEN, READER_PHASE_ODD, READER_PHASES };

struct reader_registry {
    struct reader_leaf *leaf[READER_LEAVES]; /* atomic: filled from the front, never emptied */
    uint32_t leaf_count;                     /* atomic: number of leaves in use */
    uint32_t fence_mode;                     /* atomic: odd: readers must use full fences; incremented at each change */
    uint32_t fence_confirmed;                /* atomic: the mode in which all readers are known to fence */
    uint32_t fence_confirmer;                /* atomic: the thread that confirms by a visit, 0 = none */
    uint32_t anonymous;                      /* atomic: readers inside a section without a record, including tasks */
    uint32_t anonymous_in[READER_PHASES];    /* atomic: the same readers, by phase */
    uint32_t anonymous_phase; /* atomic: current phase number; its parity selects the counter of threads that enter */
    uint32_t mount_ids;       /* atomic: last id assigned to a thread that runs tasks */
    uint32_t registered;      /* atomic: number of threads registered */
    uint32_t registered_peak; /* atomic, approximate */
    uint32_t deadline_count;  /* atomic: number of deadline threads */
    unsigned int exit_key;
    struct reader_plan plan; /* constant */
    struct reader_counts counts;
    struct complaint misuse[READER_MISUSES];
};

/* Initialise the registry; @first: zeroed memory for the first leaf, of plan->bytes. */
void reader_registry_init(struct reader_registry *registry, const struct reader_plan *plan, void *first);
/* Initialise this room's part of a leaf; called by the plan's lay_out(). */
void reader_leaf_init(struct reader_leaf *leaf);
/* The pthread key of the threads' exit hooks. */
static inline unsigned int *reader_exit_key(struct reader_registry *registry)
{
    return &registry->exit_key;
}
/* Set @room's part of @leaf; called by that room, while the leaf is laid out. */
static inline void reader_leaf_join(struct reader_leaf *leaf, enum reader_room room, void *part)
{
    leaf->of[room] = part;
}

static inline struct complaint *reader_misuse(struct reader_registry *registry, enum reader_misuse kind)
{
    return &registry->misuse[kind];
}

/* The shared record, for callbacks of threads that cannot have a record of their own. */
static inline struct reader_record *reader_shared_record(struct reader_registry *registry)
{
    return &rtrcu_load_relaxed(&registry->leaf[0])->record[0];
}

/* Take a slot and fill in the record; NULL: no memory.  Lock-free; the caller has blocked signals. */
struct reader_record *reader_slot_take(struct reader_registry *registry);
/* Return a slot that was taken and not published. */
void reader_slot_return(struct reader_record *record);
/* Make the record visible to scans, and the word registered.  Signals are blocked. */
void reader_publish(struct reader_registry *registry, struct reader_record *record, struct rtrcu_thread *self);
/* Unregister the thread of @record: no other thread reads its word any more.  Under the leaf lock; signals are
 * blocked. */
void reader_withdraw(struct reader_registry *registry, struct reader_record *record);
/* Release @record's slot for @room, which keeps no state of the slot's thread; the slot is free when its thread has
 * exited and every room has released it.  Under the leaf lock. */
void reader_release_slot(struct reader_record *record, enum reader_room room);

/* ---- leaves and records ---- */

static inline uint32_t reader_leaf_count(const struct reader_registry *registry)
{
    return rtrcu_load_acquire(&registry->leaf_count);
}

static inline struct reader_leaf *reader_leaf_at(struct reader_registry *registry, uint32_t index)
{
    return rtrcu_load_acquire(&registry->leaf[index]);
}

/* Iterate over all leaves: the one after @leaf, the first for NULL; NULL after the last. */
static inline struct reader_leaf *reader_next_leaf(struct reader_registry *registry, const struct reader_leaf *leaf)
{
    uint32_t index = leaf ? leaf->index + 1 : 0;
    return index < reader_leaf_count(registry) ? reader_leaf_at(registry, index) : NULL;
}

/* Iterate over the slots @left: the next one, which is removed from @left; NULL: none is left. */
static inline struct reader_record *reader_next(struct reader_leaf *leaf, uint32_t *left)
{
    if (*left == 0)
        return NULL;
    uint32_t slot = (uint32_t)__builtin_ctz(*left);
    *left &= *left - 1;
    return &leaf->record[slot];
}

#define READER_ALL_SLOTS UINT32_MAX

static inline struct reader_leaf *reader_leaf_of(const struct reader_record *record)
{
    return record->leaf;
}

static inline uint32_t reader_leaf_index(const struct reader_leaf *leaf)
{
    return leaf->index;
}

static inline uint32_t reader_slot(const struct reader_record *record)
{
    return record->slot;
}

static inline uint32_t reader_bit(const struct reader_record *record)
{
    return UINT32_C(1) << record->slot;
}

/* @room's part of a leaf, as set by reader_leaf_join(). */
static inline void *reader_part(const struct reader_leaf *leaf, enum reader_room room)
{
    return leaf->of[room];
}

/* Slots of registered threads, as bits. */
static inline uint32_t reader_registered(const struct reader_leaf *leaf)
{
    return rtrcu_load_acquire(&leaf->registered);
}

/* Slots whose words a grace period must scan, as bits; the threads of all other slots are idle. */
static inline uint32_t reader_scanned_slots(const struct reader_leaf *leaf)
{
    return reader_scanned_of(&leaf->scanned) & reader_registered(leaf);
}

/* Slots whose threads have the quiescent-state discipline, a hint. */
static inline uint32_t reader_quiescent(const struct reader_leaf *leaf)
{
    return rtrcu_load_relaxed(&leaf->quiescent);
}

/* Record whether tasks are on the leaf's list.  Under the leaf lock. */
static inline void reader_list_tasks(struct reader_leaf *leaf, bool listed)
{
    reader_scanned_list(&leaf->scanned, listed);
}

static inline uint32_t reader_used(const struct reader_leaf *leaf)
{
    return rtrcu_load_acquire(&leaf->used);
}

/* Does the slot belong to a registered thread?  reader_is_draining(), called under the leaf lock: to a thread that has
 * exited? */
static inline bool reader_is_registered(const struct reader_record *record)
{
    return reader_registered(record->leaf) & reader_bit(record);
}
static inline bool reader_is_draining(const struct reader_record *record)
{
    return record->leaf->draining & reader_bit(record);
}

/* The leaf lock. */
static inline void reader_lock(struct reader_leaf *leaf)
{
    lock_acquire(&leaf->lock);
}

static inline void reader_unlock(struct reader_leaf *leaf)
{
    lock_release(&leaf->lock);
}

static inline void reader_must_hold(const struct reader_leaf *leaf)
{
    must_hold(&leaf->lock);
    (void)leaf;
}

static inline struct plat_tid reader_thread_id(const struct reader_record *record)
{
    return (struct plat_tid){rtrcu_load_relaxed(&record->thread_id)};
}

static inline void reader_count_slow(struct reader_record *record)
{
    counter_add_alone(&record->slow_calls, 1);
    rtrcu_self.slow_paths++;
}

/* CPU on which the owner last ran, UINT32_MAX = the kernel does not report it.  Called by the owner, or under the leaf
 * lock while the owner is registered. */
static inline uint32_t reader_cpu(const struct reader_record *record)
{
    return record->cpu ? rtrcu_load_relaxed(record->cpu) : UINT32_MAX;
}

/* Call site of the owner's outermost section, 0 = not recorded.  Under the leaf lock; the owner is registered. */
static inline uintptr_t reader_entered(const struct reader_record *record)
{
    return rtrcu_load_relaxed(&record->self->entered);
}

/* Prefetch the records of @slots for a scan, and then the words, which are in the threads' own memory. */
static inline void reader_prefetch(struct reader_leaf *leaf, uint32_t slots)
{
    struct reader_record *record;
    for (uint32_t left = slots; (record = reader_next(leaf, &left));)
        __builtin_prefetch(record);
    for (uint32_t left = slots; (record = reader_next(leaf, &left));)
        __builtin_prefetch(record->self);
}

/* ---- words to scan: scan.c ---- */

/* Children of node @index of @level (not 0) that must be scanned, as bits; only children whose first leaf is below
 * @leaves. */
uint32_t reader_scan_below(struct reader_registry *registry, uint32_t level, uint32_t index, uint32_t leaves);
/* Iterate over the leaves that must be scanned: the next after @leaf, the first for NULL; NULL: none. */
struct reader_leaf *reader_next_scanned(struct reader_registry *registry, const struct reader_leaf *leaf);
/* Is the calling thread the only one scanned, with no task on any leaf's list?  Called between two full fences. */
bool reader_self_is_alone(const struct reader_registry *registry);

/* Number of threads registered now. */
static inline uint32_t reader_threads(const struct reader_registry *registry)
{
    return rtrcu_load_acquire(&registry->registered);
}
/* Fields that this room shows to other processes. */
extern const struct inspect_table reader_inspect_table;
/* Fill in the counters of this room. */
void reader_stats(struct reader_registry *registry, struct rtrcu_stats *stats);

/* ---- deadline threads: deadline.c ---- */

/* Publish whether the owner is a deadline thread (@deadline), and whether it has the quiescent-state discipline
 * (@qsbr).  Called by the owner. */
void reader_deadline_show(const struct reader_record *record, bool deadline, bool qsbr);
/* Is a deadline thread online?  A preemptible deadline thread always counts as online.  A thread stores its work before
 * it goes offline. */
bool reader_deadline_is_online(struct reader_registry *registry);
/* Is a deadline thread registered? */
static inline bool reader_deadline_exists(const struct reader_registry *registry)
{
    return rtrcu_load_acquire(&registry->deadline_count) != 0;
}

/* ---- fork ---- */

/* In a fork's child: remove every record but @survivor, the forking thread's (NULL: it has none). */
void reader_after_fork_child(struct reader_registry *registry, struct reader_record *survivor);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Records, the leaves that they stand in, and the registry of all of them. */
#ifndef RTRCU_READER_REGISTRY_H
#define RTRCU_READER_REGISTRY_H

#include <assert.h>

#include <rtrcu/rcu.h>

#include "reader/scanned.h"

#define READER_KINDS 2 /* of grace periods: normal, expedited */

/* Some of these kinds. */
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

/* Rooms above that keep something of their own for each slot of a leaf.  A slot is free when the first ones have let it
 * go; the others keep nothing there that outlives a thread. */
enum reader_room {
    READER_PARKED,
    READER_CALLBACK,
    READER_SERVE,
    READER_HOLDERS,
    READER_TURN = READER_HOLDERS,
    READER_ROOMS
};

struct reader_leaf;

/* One cache line: a scan reads nothing else of a thread but its word. */
struct reader_record {
    struct rtrcu_thread *self; /* owner's thread-local block; set before its bit, cleared under the leaf lock */
    const uint32_t *cpu;       /* where the kernel writes the owner's CPU, NULL = unknown; as self */
    struct reader_leaf *leaf;  /* constant */
    uint32_t slot;             /* constant: bit number in the leaf */
    uint32_t thread_id;        /* atomic: owner; written at registration, looked at for reports of any moment */
    uint32_t fence_ack;        /* atomic: the mode of fences in which the owner fences; see fence_mode.c */
    uint32_t fence_armed;      /* `armed` before the visit that is to confirm it; of the registry's confirmer */
    uint32_t armed;            /* times that another thread has set the owner's flag; under the leaf lock */
    uint32_t boost;            /* atomic: PI futex locked on the owner's behalf; see reader_boost() */
    uint32_t outside_scans;    /* scans in a row that found the owner outside; under the leaf lock */
    uint32_t proposed_armed;   /* `armed` when the owner was made to leave; under the leaf lock */
    struct counter slow_calls; /* written by the owner */
} __attribute__((aligned(BASE_CACHE_LINE)));

static_assert(READER_FANOUT == 32, "the slots of a leaf are the bits of a word");
static_assert(sizeof(struct reader_record) == BASE_CACHE_LINE, "a record is a cache line");

struct reader_leaf {
    struct lock lock;
    uint32_t index;                /* constant */
    uint32_t used;                 /* atomic: slots taken */
    uint32_t registered;           /* atomic: slots whose word must be scanned; cleared under the lock */
    uint32_t draining;             /* under the lock: used slots whose thread is gone */
    uint32_t held[READER_HOLDERS]; /* under the lock: of these, those that a room has not let go */
    uint32_t deadline[2]; /* atomic: slots of deadline threads; [1] those with the quiescent-state discipline */
    uint32_t quiescent;   /* atomic: slots of threads with that discipline, online or not; written by owners */
    struct reader_scanned scanned; /* whom grace periods look at */
    void *of[READER_ROOMS];        /* constant: what each room keeps of this leaf and its slots */
    struct reader_record record[READER_FANOUT];
};

/* Value: how a leaf is laid out: one piece of zeroed memory with room for what every room keeps of it. */
struct reader_plan {
    size_t bytes;
    struct reader_leaf *(*lay_out)(void *memory);
};

/* Mistakes of programs that the library reports and goes on with. */
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

/* Readers without a record: those that entered in even turns, and in odd ones.  A task keeps the group of the thread on
 * which it parked. */
enum reader_phase { READER_PHASE_EVEN, READER_PHASE_ODD, READER_PHASES };

struct reader_registry {
    struct reader_leaf *leaf[READER_LEAVES]; /* atomic: filled in from the front, never emptied */
    uint32_t leaf_count;                     /* atomic: leaves in use are below it */
    uint32_t fence_mode;                     /* atomic: odd, readers must use full fences; rises with each change */
    uint32_t fence_confirmed;                /* atomic: the mode in which all of them are known to */
    uint32_t fence_confirmer;                /* atomic: the thread that confirms by a visit, 0 = nobody */
    uint32_t anonymous;                      /* atomic: readers inside a section without a record, tasks among them */
    uint32_t anonymous_in[READER_PHASES];    /* atomic: of these, by group */
    uint32_t anonymous_phase;                /* atomic: in which group a thread is counted that enters, by parity */
    uint32_t mount_ids;                      /* atomic: given out to threads that run tasks */
    uint32_t registered;                     /* atomic: threads now */
    uint32_t registered_peak;                /* atomic, about */
    uint32_t deadline_count;                 /* atomic: deadline threads now */
    unsigned int exit_key;
    struct reader_plan plan; /* constant */
    struct reader_counts counts;
    struct complaint misuse[READER_MISUSES];
};

/* @first: memory for the first leaf, zeroed. */
void reader_registry_init(struct reader_registry *registry, const struct reader_plan *plan, void *first);
/* What the plan does for this room's part. */
void reader_leaf_init(struct reader_leaf *leaf);
/* The key of threads' exit hooks. */
static inline unsigned int *reader_exit_key(struct reader_registry *registry)
{
    return &registry->exit_key;
}
/* What @room keeps of @leaf; by that room, while the leaf is laid out. */
static inline void reader_leaf_join(struct reader_leaf *leaf, enum reader_room room, void *part)
{
    leaf->of[room] = part;
}

static inline struct complaint *reader_misuse(struct reader_registry *registry, enum reader_misuse kind)
{
    return &registry->misuse[kind];
}

/* The record that belongs to no thread: callbacks of threads that can have none. */
static inline struct reader_record *reader_shared_record(struct reader_registry *registry)
{
    return &rtrcu_load_relaxed(&registry->leaf[0])->record[0];
}

/* Take a slot and fill in the record; NULL if there is no memory.  Lock-free; the caller has blocked signals. */
struct reader_record *reader_slot_take(struct reader_registry *registry);
/* Of a slot that was taken and not published: give it back. */
void reader_slot_return(struct reader_record *record);
/* Make the record visible to scans, and the word registered.  Signals are blocked. */
void reader_publish(struct reader_registry *registry, struct reader_record *record, struct rtrcu_thread *self);
/* Take the word out of the scans' sight.  Under the leaf lock; signals are blocked. */
void reader_withdraw(struct reader_registry *registry, struct reader_record *record);
/* @room has nothing of the thread of @record any more; the slot is free when its thread is gone and every room has let
 * go.  Under the leaf lock. */
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

/* All leaves in turn: the one behind @leaf, the first behind NULL; NULL behind the last. */
static inline struct reader_leaf *reader_next_leaf(struct reader_registry *registry, const struct reader_leaf *leaf)
{
    uint32_t index = leaf ? leaf->index + 1 : 0;
    return index < reader_leaf_count(registry) ? reader_leaf_at(registry, index) : NULL;
}

/* All slots of @left in turn: the next one, which is taken out of @left; NULL: none is left. */
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

/* What @room keeps of a leaf, as it gave it to reader_leaf_join(). */
static inline void *reader_part(const struct reader_leaf *leaf, enum reader_room room)
{
    return leaf->of[room];
}

/* Slots whose word must be scanned, as bits. */
static inline uint32_t reader_registered(const struct reader_leaf *leaf)
{
    return rtrcu_load_acquire(&leaf->registered);
}

/* Slots whose word a grace period must look at, as bits: the others' threads sleep. */
static inline uint32_t reader_scanned_slots(const struct reader_leaf *leaf)
{
    return reader_scanned_of(&leaf->scanned) & reader_registered(leaf);
}

/* Slots whose threads have the quiescent-state discipline, a hint. */
static inline uint32_t reader_quiescent(const struct reader_leaf *leaf)
{
    return rtrcu_load_relaxed(&leaf->quiescent);
}

/* Tasks are on the leaf's list, or no longer.  Under the leaf lock. */
static inline void reader_list_tasks(struct reader_leaf *leaf, bool listed)
{
    reader_scanned_list(&leaf->scanned, listed);
}

static inline uint32_t reader_used(const struct reader_leaf *leaf)
{
    return rtrcu_load_acquire(&leaf->used);
}

/* Is the slot a thread's; is it still that of one that has gone?  The latter under the leaf lock. */
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
}

/* Where the owner was seen last, UINT32_MAX = the kernel does not tell.  By the owner, or under the leaf lock,
 * registered. */
static inline uint32_t reader_cpu(const struct reader_record *record)
{
    return record->cpu ? rtrcu_load_relaxed(record->cpu) : UINT32_MAX;
}

/* Where its outermost section began, 0 = not noted.  Under the leaf lock, registered. */
static inline uintptr_t reader_entered(const struct reader_record *record)
{
    return rtrcu_load_relaxed(&record->self->entered);
}

/* A scan of @slots is next: the words lie in the threads' own memory, so fetch them all before the first use. */
static inline void reader_prefetch(struct reader_leaf *leaf, uint32_t slots)
{
    struct reader_record *record;
    for (uint32_t left = slots; (record = reader_next(leaf, &left));)
        __builtin_prefetch(record);
    for (uint32_t left = slots; (record = reader_next(leaf, &left));)
        __builtin_prefetch(record->self);
}

/* ---- words worth a scan: scan.c ---- */

/* Children of node @index of @level, not 0, that are worth a look, as bits; of those with leaves below @leaves. */
uint32_t reader_scan_below(struct reader_registry *registry, uint32_t level, uint32_t index, uint32_t leaves);
/* All leaves that are worth a look in turn: the next behind @leaf, the first behind NULL; NULL: none is. */
struct reader_leaf *reader_next_scanned(struct reader_registry *registry, const struct reader_leaf *leaf);
/* Is no thread awake but the calling one, and no task on a leaf's list?  Between two full fences. */
bool reader_self_is_alone(const struct reader_registry *registry);

/* Threads that are registered now. */
static inline uint32_t reader_threads(const struct reader_registry *registry)
{
    return rtrcu_load_acquire(&registry->registered);
}
/* What this room tells other processes. */
extern const struct inspect_table reader_inspect_table;
/* Fill in what this room counts. */
void reader_stats(struct reader_registry *registry, struct rtrcu_stats *stats);

/* ---- deadline threads: deadline.c ---- */

/* By the owner: is it one, and has it the quiescent-state discipline? */
void reader_deadline_show(const struct reader_record *record, bool deadline, bool qsbr);
/* Is there one that is online, or has no discipline by which it would be offline?  A thread
 * has stored what it queued before it goes offline. */
bool reader_deadline_is_online(struct reader_registry *registry);

/* ---- fork ---- */

/* In the child: only @survivor (NULL: the forking thread has no record) is left. */
void reader_after_fork_child(struct reader_registry *registry, struct reader_record *survivor);

#endif

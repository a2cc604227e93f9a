/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reader records and their registry: who exists, and what their word says.
 *
 * Knows: records, leaves of 32 slots, the reader word, who uses full fences.
 * Must not know: grace periods, callbacks, drivers, what other rooms keep of a leaf.
 *
 * A slot of a leaf:
 *  state     entered by            leaves when                        to         bits
 *  FREE      reader_let_go()       a thread takes it                  USED       used 0
 *  USED      reader_slot_take()    the record is filled in            READER     used 1, registered 0, draining 0
 *  READER    reader_publish()      the thread leaves                  DRAINING   used 1, registered 1
 *  DRAINING  reader_withdraw()     every room has let go              FREE       used 1, registered 0, draining 1
 *
 * Slots and leaves are taken without a lock, since registration may run in a signal handler; memory is never given
 * back. A scan may read the owner's thread-local word only under the leaf lock and while the registered bit is set: the
 * word goes away with the thread.
 *
 * INV-RD1: registered is a subset of used.
 * INV-RD2: a thread takes its flag back only inside a slow path that rtrcu_thread.slow counts.
 * INV-RD4: the flag of a registered thread that is neither awake nor leaving is set; see reader/awake.h.
 * INV-RD5 to INV-RD7 are the reader word's: see reader/word.h.
 */
#ifndef RTRCU_READER_READER_H
#define RTRCU_READER_READER_H

#include <assert.h>

#include <rtrcu/rcu.h>

#include "reader/awake.h"
#include "reader/call.h"
#include "reader/word.h"

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

/* Owner-private bits of rtrcu_thread.state. */
enum {
    READER_STATE_DEADLINE = 1 << 0,  /* never wakes anybody */
    READER_STATE_QSBR = 1 << 1,      /* quiescent-state discipline */
    READER_STATE_CALLBACK = 1 << 2,  /* inside a callback batch */
    READER_STATE_ANONYMOUS = 1 << 3, /* counted in registry.anonymous: no record can be had */
    READER_STATE_GONE = 1 << 4,      /* the exit hook has run: no record any more */
    READER_STATE_BH = 1 << 5,        /* has used rcu_read_lock_bh() */
    READER_STATE_AWAY = 1 << 6,      /* asleep in a call of the library, between reader_away_begin() and _end() */
    READER_STATE_ODD = 1 << 7,       /* as READER_STATE_ANONYMOUS: in group READER_ODD */
    READER_STATE_RESTED = 1 << 8,    /* its fork under way has asked hash tables' workers to rest */
    READER_STATE_NAMED = 1 << 9,     /* has registered by its call: its signal handlers may queue callbacks */
    READER_STATE_OURS = 1 << 10,     /* a thread of the library, whose signals are blocked; not in a fork's child */
};

/* Rooms above that keep something of their own for each slot of a leaf. */
enum reader_room { READER_PARKED, READER_CALLBACK, READER_DRIVE, READER_ROOMS };

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
    uint32_t quiet;            /* scans in a row that found the owner outside; under the leaf lock */
    uint32_t left_armed;       /* `armed` when the owner was made to leave; under the leaf lock */
    struct counter slow_calls; /* written by the owner */
} __attribute__((aligned(BASE_CACHE_LINE)));

static_assert(READER_FANOUT == 32, "the slots of a leaf are the bits of a word");
static_assert(sizeof(struct reader_record) == BASE_CACHE_LINE, "a record is a cache line");

struct reader_leaf {
    struct lock lock;
    uint32_t index;              /* constant */
    uint32_t used;               /* atomic: slots taken */
    uint32_t registered;         /* atomic: slots whose word must be scanned; cleared under the lock */
    uint32_t draining;           /* under the lock: used slots whose thread is gone */
    uint32_t held[READER_ROOMS]; /* under the lock: of these, those that a room has not let go */
    uint32_t deadline[2];        /* atomic: slots of deadline threads; [1] those with the quiescent-state discipline */
    uint32_t quiescent;          /* atomic: slots of threads with that discipline, online or not; written by owners */
    struct reader_awake awake;   /* whom grace periods look at */
    void *of[READER_ROOMS];      /* constant: what each room keeps of this leaf and its slots */
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
enum reader_group { READER_EVEN, READER_ODD, READER_GROUPS };

struct reader_registry {
    struct reader_leaf *leaf[READER_LEAVES]; /* atomic: filled in from the front, never emptied */
    uint32_t leaf_count;                     /* atomic: leaves in use are below it */
    uint32_t fence_mode;                     /* atomic: odd, readers must use full fences; rises with each change */
    uint32_t fence_confirmed;                /* atomic: the mode in which all of them are known to */
    uint32_t fence_confirmer;                /* atomic: the thread that confirms by a visit, 0 = nobody */
    uint32_t anonymous;                      /* atomic: readers inside a section without a record, tasks among them */
    uint32_t anonymous_in[READER_GROUPS];    /* atomic: of these, by group */
    uint32_t anonymous_turn;                 /* atomic: in which group a thread is counted that enters, by parity */
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
static inline struct reader_record *reader_orphan(struct reader_registry *registry)
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
void reader_let_go(struct reader_record *record, enum reader_room room);

/* What the owner's word says: nesting and discipline, 0 = outside.  Under the leaf lock, registered. */
uint32_t reader_inside(const struct reader_record *record);
/* Ask the owner to take its slow path.  True if the flag was not set yet.  Under the leaf lock, registered. */
bool reader_arm(struct reader_record *record);
/* The owner takes the flag back, before it reads what is asked of it; a full fence.  Inside a slow path that is counted
 * (INV-RD2).  In full-fence mode, and while the thread is away, the flag stays. */
void reader_disarm(struct reader_registry *registry);
/* The owner asks itself to come back.  A thread without a record comes in any case. */
void reader_arm_self(void);

/* A slow path of the calling thread.  A handler in between leaves the count as it found it. */
static inline void reader_slow_begin(void)
{
    rtrcu_store_relaxed(&rtrcu_self.slow, rtrcu_self.slow + 1);
    rtrcu_fence_light();
}

static inline void reader_slow_end(void)
{
    rtrcu_fence_light();
    rtrcu_store_release(&rtrcu_self.slow, rtrcu_self.slow - 1);
}

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
static inline uint32_t reader_awake_slots(const struct reader_leaf *leaf)
{
    return reader_awake_of(&leaf->awake) & reader_registered(leaf);
}

/* Slots whose threads have the quiescent-state discipline, a hint. */
static inline uint32_t reader_quiescent(const struct reader_leaf *leaf)
{
    return rtrcu_load_relaxed(&leaf->quiescent);
}

/* Tasks are on the leaf's list, or no longer.  Under the leaf lock. */
static inline void reader_list_tasks(struct reader_leaf *leaf, bool listed)
{
    reader_awake_list(&leaf->awake, listed);
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

/* ---- whom to look at: look.c ---- */

/* Children of node @index of @level, not 0, that are worth a look, as bits; of those with leaves below @leaves. */
uint32_t reader_look_below(struct reader_registry *registry, uint32_t level, uint32_t index, uint32_t leaves);
/* All leaves that are worth a look in turn: the next behind @leaf, the first behind NULL; NULL: none is. */
struct reader_leaf *reader_next_awake(struct reader_registry *registry, const struct reader_leaf *leaf);
/* Is no thread awake but the calling one, and no task on a leaf's list?  Between two full fences. */
bool reader_self_is_alone(const struct reader_registry *registry);

/* Threads that are registered now. */
static inline uint32_t reader_threads(const struct reader_registry *registry)
{
    return rtrcu_load_acquire(&registry->registered);
}
/* What this room tells other processes. */
extern const struct inside_table reader_inside_table;
/* Fill in what this room counts. */
void reader_stats(struct reader_registry *registry, struct rtrcu_stats *stats);

/* ---- readers without a record ---- */

/* How many are inside a section, tasks among them. */
static inline uint32_t reader_anonymous(const struct reader_registry *registry)
{
    return rtrcu_load_acquire(&registry->anonymous);
}

/* The groups with a reader inside, as bits. */
static inline uint32_t reader_anonymous_groups(const struct reader_registry *registry)
{
    uint32_t groups = 0;
    for (uint32_t group = 0; group < READER_GROUPS && reader_anonymous(registry); group++)
        groups |= rtrcu_load_acquire(&registry->anonymous_in[group]) ? UINT32_C(1) << group : 0;
    return groups;
}

/* Its parity is the group that a thread joins that enters now. */
static inline uint32_t reader_anonymous_turn(const struct reader_registry *registry)
{
    return rtrcu_load_acquire(&registry->anonymous_turn);
}

/* [O25] From @turn to the next one, if nobody is left in the group of that: then the group of @turn empties. */
static inline void reader_anonymous_next(struct reader_registry *registry, uint32_t turn)
{
    if (rtrcu_load_acquire(&registry->anonymous_in[(turn + 1) & 1]) == 0)
        (void)rtrcu_compare_exchange(&registry->anonymous_turn, &turn, turn + 1);
}

static inline void reader_anonymous_enter(struct reader_registry *registry, enum reader_group group)
{
    rtrcu_fetch_add(&registry->anonymous, 1);
    rtrcu_fetch_add(&registry->anonymous_in[group], 1); /* [O25] */
}

/* True if it was the last, of its group or of all. */
static inline bool reader_anonymous_leave(struct reader_registry *registry, enum reader_group group)
{
    bool last = rtrcu_fetch_add(&registry->anonymous_in[group], (uint32_t)-1) == 1;
    return rtrcu_fetch_add(&registry->anonymous, (uint32_t)-1) == 1 || last;
}

/* The group of the calling thread; where it is not counted, the one that it would join now. */
static inline enum reader_group reader_self_group(const struct reader_registry *registry)
{
    uint32_t odd = rtrcu_self.state & READER_STATE_ODD;
    if (!(rtrcu_self.state & READER_STATE_ANONYMOUS))
        odd = reader_anonymous_turn(registry) & 1;
    return odd ? READER_ODD : READER_EVEN;
}

/* ---- sleep: sleep.c ---- */

/* The calling thread is awake from now on: it is about to be inside, or to go back to fast.  In a slow path that is
 * counted. */
void reader_wake(void);
/* Slots of threads that never sleep, as bits. */
static inline uint32_t reader_sleepless(const struct reader_leaf *leaf)
{
    return rtrcu_load_acquire(&leaf->deadline[0]) | rtrcu_load_acquire(&leaf->deadline[1]); /* [O26] */
}
/* A scan has found the owner inside, or outside.  True if it was outside @scans times in a row.  Under leaf lock. */
bool reader_seen(struct reader_record *record, bool inside, uint32_t scans);
/* Before a heavy fence: threads that have been found outside @scans times in a row are to leave, and are asked.  True
 * if there are any.  Under the leaf lock. */
bool reader_doze(struct reader_leaf *leaf, uint32_t scans);
/* Threads that are to leave. */
static inline uint32_t reader_leaving(const struct reader_leaf *leaf)
{
    return reader_awake_leaving(&leaf->awake);
}
/* Behind that fence: is the owner outside, and will its next section or quiescent state begin with waking?  Under the
 * leaf lock. */
bool reader_kept_still(const struct reader_record *record);
/* Of the threads that were to leave, @asleep sleep from now on, unless they have woken.  Under the leaf lock. */
static inline void reader_settle(struct reader_leaf *leaf, uint32_t asleep)
{
    reader_awake_settle(&leaf->awake, asleep);
}

/* ---- the calling thread ---- */

/* Its record, NULL = it has none. */
static inline struct reader_record *reader_self(void)
{
    return rtrcu_self.record;
}

/* Has it one of these READER_STATE_ bits? */
static inline bool reader_self_is(uint32_t states)
{
    return rtrcu_self.state & states;
}

static inline void reader_self_set(uint32_t states)
{
    rtrcu_self.state |= states;
}

static inline void reader_self_clear(uint32_t states)
{
    rtrcu_self.state &= ~states;
}

/* Its id as tasks remember it: not the kernel's number, which a fork's child changes. */
static inline uint32_t reader_mount_id(struct reader_registry *registry)
{
    if (rtrcu_self.mount_id == 0)
        rtrcu_self.mount_id = rtrcu_fetch_add(&registry->mount_ids, 1) + 1;
    return rtrcu_self.mount_id;
}

/* What it registers as: RTRCU_QSBR, RTRCU_DEADLINE. */
void reader_self_register_as(struct reader_registry *registry, unsigned int flags);
/* Its exit hook: see plat_thread_exit_arm() and plat_thread_exit_reserve(). */
int reader_exit_arm(const struct reader_registry *registry);
int reader_exit_reserve(const struct reader_registry *registry);

/* Is the calling thread in a slow path that is counted? */
static inline bool reader_self_is_slow(void)
{
    return rtrcu_self.slow != 0;
}

/* ---- deadline threads: deadline.c ---- */

/* By the owner: is it one, and has it the quiescent-state discipline? */
void reader_deadline_show(const struct reader_record *record, bool deadline, bool qsbr);
/* Is there one that is online, or has no discipline by which it would be offline?  A thread
 * has stored what it queued before it goes offline. */
bool reader_deadline_is_online(struct reader_registry *registry);

/* ---- boosting: boost.c ----
 *
 *  record.boost       by             when
 *  0 -> owner's id   reader_boost()  before the flag; by compare-and-swap, since the kernel adds a waiters bit
 *  id -> 0           the owner      its slow path, after its report; with the waiters bit set by FUTEX_UNLOCK_PI
 *  id -> 0           the booster     it finds the owner outside, or gives up
 */

/* Put the owner's id into the word and ask for the slow path.  False: the word is in use.  Under the leaf lock.
 * @armed: what reader_boost_confirmed() compares. */
bool reader_boost(struct reader_record *record, uint32_t *armed);
/* Is the flag still there, so that the owner's unlock will release the word?  Asks again if not.  A flag that another
 * thread has set since the last look counts as lost: no fence stands behind it yet.  Under the leaf lock, behind a
 * heavy fence since the last look. */
bool reader_boost_confirmed(struct reader_record *record, uint32_t *armed);
/* The booster takes the word back, if the owner has not released it. */
void reader_boost_withdraw(struct reader_record *record, struct plat_tid owner);
/* Is the owner boosted now?  A hint. */
static inline bool reader_is_boosted(const struct reader_record *record)
{
    return rtrcu_load_relaxed(&record->boost) != 0;
}
/* The word that the booster locks, and the owner unlocks. */
static inline uint32_t *reader_boost_word(struct reader_record *record)
{
    return &record->boost;
}
/* That of the calling thread, if it has one. */
static inline uint32_t *reader_self_boost_word(void)
{
    return rtrcu_self.boost;
}
/* The owner ends its boost.  True: the word needs FUTEX_UNLOCK_PI. */
bool reader_boost_release(void);

/* ---- full-fence mode: fence_mode.c ---- */

/* What fence_ack says of a thread that is away: it fences in any mode before it reads. */
#define READER_FENCES_ANY UINT32_MAX

static inline bool reader_fences_are_full(const struct reader_registry *registry)
{
    return rtrcu_load_relaxed(&registry->fence_mode) & 1;
}

/* Odd: readers must use full fences; rises with each change. */
static inline uint32_t reader_fences_mode(const struct reader_registry *registry)
{
    return rtrcu_load_acquire(&registry->fence_mode);
}

/* Does every reader fence in @mode, so that a grace period needs no heavy fence? */
static inline bool reader_fences_are_confirmed(const struct reader_registry *registry, uint32_t mode)
{
    return (mode & 1) && rtrcu_load_acquire(&registry->fence_confirmed) == mode;
}

/* Full fences from the start: no reader exists yet. */
void reader_fences_start_full(struct reader_registry *registry);
/* Begin the switch to full fences; nothing if they are in force. */
void reader_fences_switch(struct reader_registry *registry);
/* Before a visit to every CPU: arm every reader, and remember in its record how often that has been done.  False:
 * another thread is between the two calls. */
bool reader_fences_visit_begin(struct reader_registry *registry);
/* Does every reader fence in @mode from now on?  @visited: by what the records remember, behind a visit to every CPU
 * since; else only by what the owners have acknowledged.  Arms again those that lost the flag. */
bool reader_fences_confirm(struct reader_registry *registry, uint32_t mode, bool visited);
/* Behind it, by the same thread. */
void reader_fences_visit_end(struct reader_registry *registry);
/* The calling thread fences from now on and says so, unless it has interrupted a slow path of its own. */
void reader_fences_acknowledge(struct reader_registry *registry);
/* Back to light fences: grace periods use heavy ones from now on.  Nobody may be between a fence and its scan. */
void reader_fences_restore(struct reader_registry *registry);

/* The calling thread is about to sleep in a call of the library, which may last: full fences need not wait for it.
 * True if it was not away before: then reader_away_end() is owed. */
bool reader_away_begin(void);
void reader_away_end(struct reader_registry *registry);
/* A section begins, in a handler of a thread that is away: no longer away, before the mode is read. */
void reader_away_interrupted(void);

/* ---- fork ---- */

/* In the child: only @survivor (NULL: the forking thread has no record) is left. */
void reader_after_fork_child(struct reader_registry *registry, struct reader_record *survivor);

#endif

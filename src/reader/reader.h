/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reader records and their registry: who exists, and what their word says.
 *
 * Knows: records, leaves of 32 records, the reader word, who uses full fences.
 * Must not know: grace periods, callbacks' policies, drivers.
 *
 * A slot of a leaf:
 *  state     entered by            leaves when                        to         bits
 *  FREE      reader_slot_free()    a thread takes it                  USED       used 0
 *  USED      reader_slot_take()    the record is filled in            READER     used 1, registered 0, draining 0
 *  READER    reader_publish()      the thread leaves                  DRAINING   used 1, registered 1
 *  DRAINING  reader_withdraw()     its last callback has returned     FREE       used 1, registered 0, draining 1
 *
 * Slots and leaves are taken without a lock, since registration may run in a signal handler; memory is never given
 * back. A scan may read the owner's thread-local word only under the leaf lock and while the registered bit is set: the
 * word goes away with the thread.
 *
 * INV-RD1: registered is a subset of used.
 * INV-RD2: a thread takes its flag back only inside a slow path that rtrcu_thread.slow counts.
 * And: self is valid memory while the registered bit is set and the leaf lock is held.
 */
#ifndef RTRCU_READER_READER_H
#define RTRCU_READER_READER_H

#include <rtrcu/detail/word.h>

#include "base/base.h"

#define READER_FANOUT 32
#define READER_KINDS 2 /* of grace periods: normal, expedited */
#define READER_LEAVES 32768

/* Owner-private bits of rtrcu_thread.state. */
enum {
    READER_STATE_DEADLINE = 1 << 0,  /* never wakes anybody */
    READER_STATE_QSBR = 1 << 1,      /* quiescent-state discipline */
    READER_STATE_CALLBACK = 1 << 2,  /* inside a callback batch */
    READER_STATE_ANONYMOUS = 1 << 3, /* counted in registry.anonymous: no record can be had */
    READER_STATE_GONE = 1 << 4,      /* the exit hook has run: no record any more */
    READER_STATE_BH = 1 << 5,        /* has used rcu_read_lock_bh() */
    READER_STATE_AWAY = 1 << 6,      /* asleep in a call of the library, between reader_away_begin() and _end() */
};

struct reader_leaf;

struct reader_record {
    struct rtrcu_thread *self;        /* owner's thread-local block; written under the leaf lock */
    const uint32_t *cpu;              /* where the kernel writes the owner's CPU, NULL = unknown; as self */
    struct reader_leaf *leaf;         /* constant */
    uint32_t slot;                    /* constant: bit number in the leaf */
    uint32_t thread_id;               /* owner; written at registration */
    uint32_t parked;                  /* atomic: tasks on the owner's list; written under tasks_lock */
    int64_t registered_ns;            /* CLOCK_MONOTONIC; written at registration */
    int64_t deadline_ns;              /* written by the owner, read by its own invocations */
    uint64_t slow_calls;              /* written by the owner */
    uint32_t fence_ack;               /* atomic: the mode of fences in which the owner fences; see fence_mode.c */
    uint32_t fence_armed;             /* `armed` before the visit that is to confirm it; of the registry's confirmer */
    uint64_t returned_seen;           /* callbacks and frees that had returned at the driver's last look; leaf lock */
    int64_t idle_since_ns;            /* when that last changed while some were ready; under the leaf lock */
    uint32_t armed;                   /* times that another thread has set the owner's flag; under the leaf lock */
    uint32_t lent;                    /* atomic: PI futex locked on the owner's behalf; see reader_lend() */
    uint32_t lender;                  /* atomic: thread id of the one thread that lends now, 0 = nobody */
    uint64_t lent_gp;                 /* of the lender: grace period that lent_ns belongs to */
    int64_t lent_ns;                  /* of the lender: time lent in it */
    int64_t looked_cpu_ns;            /* of the lender: CPU time that the owner had used when it looked first */
    int64_t plugged_ns;               /* atomic: policy throttle: no callback before; written by the owner */
    uint32_t quota;                   /* policy krcud: what the owner may still run; refilled when more is ready */
    int64_t oldest_ns;                /* when the inbox went from empty to not empty; written by the owner, a hint */
    int64_t oldest_ready_ns;          /* the same for what is ready, 0 = nothing; under the leaf lock */
    struct reader_record *next_ready; /* a daemon's list of queues; under that daemon's lock */
    uint32_t listed;                  /* atomic: on a daemon's list or being served */
    uint32_t made_ready;              /* atomic: times that callbacks became ready; written under the leaf lock */
    void *free_block;                 /* atomic: rcu_free()'s newest block, NULL while the owner has them out */
    uint64_t free_queued;             /* pointers given to rcu_free(); written by the owner */
    uint64_t free_done;               /* of these, freed; written by the claim's owner */
    uint64_t free_started;            /* with the one that the claim's owner is freeing; for fork */
    uint64_t free_goal;               /* rcu_barrier() waits for this number; under the barrier lock */
    struct lock tasks_lock;           /* the list of tasks that parked on the owner */
    struct rtrcu_link tasks;          /* under tasks_lock; see blocked/ */
    struct cb_queue queue;
} __attribute__((aligned(BASE_CACHE_LINE)));

struct reader_leaf {
    struct lock lock;
    uint32_t index;       /* constant */
    uint32_t used;        /* atomic: slots taken */
    uint32_t registered;  /* atomic: slots whose word must be scanned; cleared under the lock */
    uint32_t draining;    /* under the lock: used slots whose thread is gone */
    uint32_t dirty;       /* atomic: inbox went from empty to not empty; set by owners, cleared by the collector */
    uint32_t waiting;     /* atomic: slots with callbacks that wait for a grace period; written under the lock */
    uint32_t ready;       /* atomic: slots with ready callbacks, whoever is to run them; written under the lock */
    uint32_t deadline[2]; /* atomic: slots of deadline threads; [1] those that have the quiescent-state discipline */
    struct reader_record *records;
    /* Blocked tasks; under the lock, see blocked/. */
    uint32_t parked; /* atomic: tasks on the list */
    struct rtrcu_link tasks;
    struct rcu_task *boundary[READER_KINDS]; /* waited for with everything behind it, NULL = nothing */
    int64_t boundary_position[READER_KINDS]; /* atomic: its position, INT64_MAX = nothing */
    int64_t first_position, last_position;
};

/* What programs do wrong, as far as it is said and lived with. */
enum reader_misuse {
    READER_MISUSE_UNLOCK,
    READER_MISUSE_OFFLINE,
    READER_MISUSE_EXIT,
    READER_MISUSE_WAIT,
    READER_MISUSE_TASK_LIST,
    READER_MISUSE_TASK_EXIT,
    READER_MISUSES
};

struct reader_registry {
    struct reader_leaf *leaf[READER_LEAVES]; /* atomic: filled in from the front, never emptied */
    uint32_t leaf_count;                     /* atomic: leaves in use are below it */
    uint32_t fence_mode;                     /* atomic: odd, readers must use full fences; rises with each change */
    uint32_t fence_confirmed;                /* atomic: the mode in which all of them are known to */
    uint32_t fence_confirmer;                /* atomic: the thread that confirms by a visit, 0 = nobody */
    uint32_t anonymous;                      /* atomic: readers inside a section without a record, tasks among them */
    uint32_t anonymous_parked;               /* atomic: tasks among them that are parked now; for fork */
    uint32_t mount_ids;                      /* atomic: given out to threads that run tasks */
    uint32_t registered;                     /* atomic: threads now */
    uint32_t registered_peak;                /* atomic, about */
    uint32_t deadline_count;                 /* atomic: deadline threads now */
    unsigned int exit_key;
    struct complaint misuse[READER_MISUSES];
    struct reader_leaf first_leaf;
    struct reader_record first_records[READER_FANOUT];
};

void reader_registry_init(struct reader_registry *registry);

static inline struct complaint *reader_misuse(struct reader_registry *registry, enum reader_misuse kind)
{
    return &registry->misuse[kind];
}

/* The record that belongs to no thread: callbacks of threads that can have none. */
static inline struct reader_record *reader_orphan(struct reader_registry *registry)
{
    return &registry->first_records[0];
}

/* Take a slot and fill in the record; NULL if there is no memory.  Lock-free; the caller has blocked signals. */
struct reader_record *reader_slot_take(struct reader_registry *registry);
/* Make the record visible to scans, and the word registered.  Signals are blocked. */
void reader_publish(struct reader_registry *registry, struct reader_record *record, struct rtrcu_thread *self);
/* Take the word out of the scans' sight.  Under the leaf lock; signals are blocked. */
void reader_withdraw(struct reader_registry *registry, struct reader_record *record);
/* Give the slot back, if the thread is gone and nothing is queued.  Under the leaf lock. */
void reader_slot_free(struct reader_record *record);

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

static inline uint32_t reader_leaf_count(const struct reader_registry *registry)
{
    return rtrcu_load_acquire(&registry->leaf_count);
}

static inline struct reader_leaf *reader_leaf_at(struct reader_registry *registry, uint32_t index)
{
    return rtrcu_load_acquire(&registry->leaf[index]);
}

static inline uint32_t reader_bit(const struct reader_record *record)
{
    return UINT32_C(1) << record->slot;
}

/* Words that are written under the leaf lock, and looked at without it. */
static inline void reader_bits_set(uint32_t *word, uint32_t bits)
{
    rtrcu_store_relaxed(word, *word | bits);
}

static inline void reader_bits_clear(uint32_t *word, uint32_t bits)
{
    rtrcu_store_relaxed(word, *word & ~bits);
}

static inline bool reader_is_registered(const struct reader_record *record)
{
    return rtrcu_load_acquire(&record->leaf->registered) & reader_bit(record);
}

/* ---- deadline threads: deadline.c ---- */

/* By the owner: is it one, and has it the quiescent-state discipline? */
void reader_deadline_show(const struct reader_record *record, bool deadline, bool qsbr);
/* Is there one that is online, or has no discipline by which it would be offline?  Whoever goes offline has shown
 * before what it brought. */
bool reader_deadline_is_online(struct reader_registry *registry);

/* ---- lending: lend.c ----
 *
 *  record.lent       by             when
 *  0 -> owner's id   reader_lend()  before the flag; by compare-and-swap, since the kernel adds a waiters bit
 *  id -> 0           the owner      its slow path, after its report; with the waiters bit set by FUTEX_UNLOCK_PI
 *  id -> 0           the lender     it finds the owner outside, or gives up
 */

/* Put the owner's id into the word and ask for the slow path.  False: the word is in use.  Under the leaf lock.
 * @armed: what reader_lend_confirmed() compares. */
bool reader_lend(struct reader_record *record, uint32_t *armed);
/* Is the flag still there, so that the owner's unlock will release the word?  Asks again if not.  A flag that another
 * thread has set since the last look counts as lost: no fence stands behind it yet.  Under the leaf lock, behind a
 * heavy fence since the last look. */
bool reader_lend_confirmed(struct reader_record *record, uint32_t *armed);
/* The lender takes the word back, if the owner has not released it. */
void reader_lend_withdraw(struct reader_record *record, uint32_t owner);
/* The owner gives a lent priority back.  True: the word needs FUTEX_UNLOCK_PI. */
bool reader_lent_release(void);

/* ---- full-fence mode: fence_mode.c ---- */

/* What fence_ack says of a thread that is away: it fences in any mode before it reads. */
#define READER_FENCES_ANY UINT32_MAX

static inline bool reader_fences_are_full(const struct reader_registry *registry)
{
    return rtrcu_load_relaxed(&registry->fence_mode) & 1;
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
/* Before a visit to every CPU: arm every reader, and note who is.  False: another thread is at it. */
bool reader_fences_note(struct reader_registry *registry);
/* Does every reader fence in @mode from now on?  @visited: by what has been noted, behind a visit to every CPU since;
 * else only by what the owners have acknowledged.  Arms again those that lost the flag. */
bool reader_fences_confirm(struct reader_registry *registry, uint32_t mode, bool visited);
/* Who noted, and is done. */
void reader_fences_forget(struct reader_registry *registry);
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

/* ---- fork: ---- */

/* In the child: only @survivor (NULL: the forking thread has no record) is left. */
void reader_after_fork(struct reader_registry *registry, struct reader_record *survivor);

#endif

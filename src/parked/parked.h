/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tasks that are parked inside a read-side critical section: their lists, their places, their promotion.
 *
 * Knows: records and leaves, and which kinds of grace period wait.  Must not know: sequences, node words,
 * sections.
 *
 * A task is on the list of the thread where it parked, or on the list of that thread's leaf.  Promotion moves tasks
 * from the former to the latter.
 *
 *  where      entered by                                        leaves by                           guarded by
 *  NOWHERE    its outermost unlock, or exit                     parking inside a section            its own thread
 *  ON_THREAD  parked_add_to_thread(), parked_follow_on_thread() promotion, or its outermost unlock  the slot's lock
 *  ON_LEAF    parked_add_to_leaf(), parked_follow_on_leaf(),    its outermost unlock                the leaf lock
 *             promotion
 *  COUNTED    parking without a record                          its outermost unlock                its list's lock
 *
 * Grace periods wait for a counted task by the counter of its phase; the list of counted tasks is for fork.
 *
 * The leaf's list is ordered: a grace period of a kind waits for the task at its boundary and for all after it, and for
 * no task before the boundary.  So a task's place determines which kinds wait for it: see parked_place().
 *
 * INV-BL1: a boundary points into its leaf's list, or is NULL.
 * INV-BL2: positions do not decrease along the list.
 */
#ifndef RTRCU_PARKED_PARKED_H
#define RTRCU_PARKED_PARKED_H

#include "reader/reader.h"

struct parked_slot {
    struct lock lock; /* guards the list: tasks parked on the slot's thread; in `counted`, the counted tasks */
    uint32_t count;   /* atomic: number of tasks on the list; written under the lock */
    struct rtrcu_link tasks;
};

struct parked_leaf {
    struct reader_leaf *leaf; /* constant; the leaf lock guards the fields below, except slot and counted */
    uint32_t count;           /* atomic: number of tasks on the leaf's list */
    uint32_t holders;         /* atomic: slots whose threads' lists may contain tasks; written under the slot's lock */
    struct rtrcu_link tasks;
    struct rcu_task *boundary[READER_KINDS]; /* per kind: first task for which the grace period waits, NULL = none */
    int64_t boundary_position[READER_KINDS]; /* atomic: per kind: position of boundary, INT64_MAX = none */
    int64_t first_position, last_position;
    struct rcu_task *moving; /* the task being promoted, perhaps on no list; for fork */
    struct parked_slot slot[READER_FANOUT];
    struct parked_slot counted; /* used in the first leaf only: all counted tasks; for fork */
};

void parked_leaf_init(struct parked_leaf *part, struct reader_leaf *leaf);

static inline struct parked_leaf *parked_leaf(const struct reader_leaf *leaf)
{
    return (struct parked_leaf *)reader_part(leaf, READER_PARKED);
}

static inline struct parked_slot *parked_slot(const struct reader_record *record)
{
    return &parked_leaf(reader_leaf_of(record))->slot[reader_slot(record)];
}

/* Fields that this room shows to other processes. */
extern const struct inspect_table parked_inspect_table;

/* The list that a task is on.  PARKED_COUNTED_...: it is counted as a reader without a record, in the phase that the
 * name ends with. */
enum parked_where { PARKED_NOWHERE, PARKED_ON_THREAD, PARKED_ON_LEAF, PARKED_COUNTED_EVEN, PARKED_COUNTED_ODD };

static inline bool parked_is_counted(uint32_t where)
{
    return where == PARKED_COUNTED_EVEN || where == PARKED_COUNTED_ODD;
}
static inline enum reader_phase parked_phase(uint32_t where)
{
    return where == PARKED_COUNTED_ODD ? READER_PHASE_ODD : READER_PHASE_EVEN;
}

enum parked_place {
    PARKED_AT_HEAD,   /* before every boundary: no grace period in progress waits for the task, unless it becomes a
                         boundary */
    PARKED_AT_TAIL,   /* after every boundary */
    PARKED_AFTER_EXP, /* directly after the expedited boundary */
    PARKED_AFTER_GP,  /* directly after the normal boundary */
};

/* The place of a task that parks, by a table of 16 rows.  @tasks: the kinds that wait for tasks of the leaf; @thread:
 * those that wait for the thread that parks. */
enum parked_place parked_place(struct reader_kinds tasks, struct reader_kinds thread);

/* ---- lists: list.c ---- */

#define PARKED_PROMOTE_MAX (CHECK_DEBUG ? 2 : 256)

void parked_add_to_thread(struct reader_record *record, struct rcu_task *task);
/* @thread: the kinds that wait for the thread that parks.  Under the leaf lock.  Returns the kinds that wait for a task
 * of this leaf now and did not before. */
struct reader_kinds parked_add_to_leaf(struct reader_leaf *leaf, struct rcu_task *task, struct reader_kinds thread);
/* Put @task directly after @older, which keeps its place, so that a grace period that waits for @older's section also
 * waits for @task's.  parked_follow_on_thread() returns false if @older is not, or no longer, on a thread's list.
 * parked_follow_on_leaf(), under the leaf lock, returns the kinds that wait for @task. */
bool parked_follow_on_thread(struct rcu_task *older, struct rcu_task *task);
struct reader_kinds parked_follow_on_leaf(struct reader_leaf *leaf, struct rcu_task *older, struct rcu_task *task);
/* Lock the list of @record's slot.  Under the leaf lock. */
void parked_lock_list(struct reader_record *record);
void parked_unlock_list(struct reader_record *record);
/* Move tasks from the locked list of @record's slot to the leaf's list; at most PARKED_PROMOTE_MAX, which bounds the
 * time under the locks.  Under the leaf lock.  Returns as parked_add_to_leaf().  The slot still counts the @moved tasks
 * until parked_promoted(), since its thread, which clears its bit without the lock, must not read 0 before the leaf's
 * word shows that tasks are waited for. */
struct reader_kinds parked_promote(struct reader_record *record, struct reader_kinds thread, uint32_t *moved);
void parked_promoted(struct reader_record *record, uint32_t moved);
/* Called when a grace period of @kind begins: it waits for every task on the leaf's list.  Under the leaf lock.  True
 * if the list has tasks. */
bool parked_begin(struct reader_leaf *leaf, unsigned int kind);
/* Remove @task from the list of the thread where it parked.  False: @task is not, or no longer, on such a list. */
bool parked_remove_from_thread(struct rcu_task *task);
/* parked_add_counted() makes @task, which is on no list, a counted task of @phase.  parked_remove_counted() removes a
 * counted task and returns its previous `where`.  The caller changes the counts of readers without a record. */
void parked_add_counted(struct reader_registry *registry, struct rcu_task *task, enum reader_phase phase);
uint32_t parked_remove_counted(struct reader_registry *registry, struct rcu_task *task);
/* Remove @task from its leaf's list.  Under the leaf lock.  Returns the kinds that waited for it last. */
struct reader_kinds parked_remove_from_leaf(struct reader_leaf *leaf, struct rcu_task *task);
/* The first task that a grace period of @kind waits for, and the task after @task; NULL = none.  Under the leaf
 * lock. */
struct rcu_task *parked_first_waited_for(struct reader_leaf *leaf, unsigned int kind);
struct rcu_task *parked_next(struct reader_leaf *leaf, struct rcu_task *task);
/* Numbers of tasks: on the list of @record's thread, on the list of @leaf. */
static inline uint32_t parked_on_thread(const struct reader_record *record)
{
    return rtrcu_load_acquire(&parked_slot(record)->count);
}
uint32_t parked_on_leaf(const struct reader_leaf *leaf);
/* Slots on whose threads' lists there may be tasks, as bits. */
static inline uint32_t parked_holders(const struct reader_leaf *leaf)
{
    return rtrcu_load_acquire(&parked_leaf(leaf)->holders); /* [O14] */
}
/* Called after a scan has found the list of @record's thread empty: if it is still empty, later scans skip it until a
 * task parks there.  Under the leaf lock. */
void parked_holds_nothing(struct reader_record *record);
/* May a parked task hold an object that the calling thread is about to free, given that no other thread can be a
 * reader?  A thread that has exited promoted its tasks before it was removed from the count. */
bool parked_any(struct reader_registry *registry);
/* May any task of the process be parked or listed?  A hint, which looks at all leaves. */
bool parked_anywhere(struct reader_registry *registry);
/* Does a grace period of any kind wait for @task?  A hint: without a lock. */
bool parked_is_waited_for(const struct rcu_task *task);
/* In a fork's child, which may find a list half changed: drop tasks mounted on threads that do not exist; no grace
 * period waits for the other tasks yet. */
void parked_after_fork_child(struct reader_registry *registry);

#endif

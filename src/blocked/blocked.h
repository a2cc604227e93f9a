/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Blocked tasks: parked inside a read-side critical section.  Their lists, their place, their promotion.
 *
 * Knows: records and leaves, and which kinds of grace period wait (as bits).  Must not know: sequences, node words,
 * sections.
 *
 * A task is on the list of the thread where it parked, or on that thread's leaf list.  Promotion moves it to the
 * leaf's.
 *
 *  where          entered by                       leaves by                          guarded by
 *  NOWHERE        its outermost unlock, or exit    parking inside a section           the task's own thread
 *  ON_THREAD      blocked_add_to_thread()          promotion, or its outermost unlock the record's tasks_lock
 *  ON_LEAF        blocked_add_to_leaf()            its outermost unlock               the leaf lock
 *  COUNTED        parking without a record         its outermost unlock               the task's own thread; on no list
 *
 * The leaf's list is ordered: a grace period of a kind waits for the task at its boundary and for all behind it; tasks
 * in front of the boundary are none of its business.  So where a task is put says who waits for it (blocked_place()).
 *
 * INV-BL1: a boundary points into its leaf's list, or is NULL.
 * INV-BL2: positions do not fall along the list.
 */
#ifndef RTRCU_BLOCKED_BLOCKED_H
#define RTRCU_BLOCKED_BLOCKED_H

#include "reader/reader.h"

enum blocked_where { BLOCKED_NOWHERE, BLOCKED_ON_THREAD, BLOCKED_ON_LEAF, BLOCKED_COUNTED };

/* Inputs of the placement table: for each kind, whether the leaf has tasks that it waits for, and whether it waits
 * for the thread that parks.  The order of the kinds is that of gp.h: normal, expedited. */
enum {
    BLOCKED_GP_TASKS = 1 << 0,
    BLOCKED_EXP_TASKS = 1 << 1,
    BLOCKED_GP_THREAD = 1 << 2,
    BLOCKED_EXP_THREAD = 1 << 3,
};

enum blocked_place {
    BLOCKED_AT_HEAD,   /* in front of every boundary: nobody under way waits, or only by accident of the order */
    BLOCKED_AT_TAIL,   /* behind every boundary */
    BLOCKED_AFTER_EXP, /* right behind the expedited boundary */
    BLOCKED_AFTER_GP,  /* right behind the normal boundary */
};

/* The table of 16 rows. */
enum blocked_place blocked_place(unsigned int state);

/* ---- lists: list.c ---- */

#define BLOCKED_PROMOTE_MAX (CHECK_DEBUG ? 2 : 256)

void blocked_add_to_thread(struct reader_record *record, struct rcu_task *task);
/* @threads: bits BLOCKED_GP_THREAD, BLOCKED_EXP_THREAD.  Under the leaf lock.  Returns the kinds (bit 0 normal, bit 1
 * expedited) that wait for a task of this leaf now and did not before. */
unsigned int blocked_add_to_leaf(struct reader_leaf *leaf, struct rcu_task *task, unsigned int threads);
/* Move @record's list to its leaf's, at most BLOCKED_PROMOTE_MAX tasks, which bounds the time under the lock.  Under
 * the leaf lock.  Returns as above.  The record goes on saying that @moved tasks are parked until blocked_promoted():
 * its owner, which clears its bit without the lock, must not find "none" before the leaf's word says that tasks are
 * waited for. */
unsigned int blocked_promote(struct reader_record *record, unsigned int threads, uint32_t *moved);
void blocked_promoted(struct reader_record *record, uint32_t moved);
/* A grace period of @kind begins: it waits for every task of the leaf.  Under the leaf lock.  True if there is any. */
bool blocked_begin(struct reader_leaf *leaf, unsigned int kind);
/* Take @task off the thread's list it is on.  False: it is not, or no longer, on one. */
bool blocked_remove_from_thread(struct rcu_task *task);
/* Take @task off its leaf's list.  Under the leaf lock.  Returns the kinds that waited for it last. */
unsigned int blocked_remove_from_leaf(struct reader_leaf *leaf, struct rcu_task *task);
/* The task behind @task on its leaf's list, NULL = none.  Under the leaf lock. */
struct rcu_task *blocked_next(struct reader_leaf *leaf, struct rcu_task *task);
/* Does a grace period of any kind wait for @task?  A hint. */
bool blocked_is_waited_for(const struct rcu_task *task);
/* In a fork's child: tasks mounted in threads that are not there are dropped; nobody waits for the others yet. */
void blocked_after_fork(struct reader_leaf *leaf);

#endif

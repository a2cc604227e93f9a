/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Parked tasks: fibers, coroutines and async tasks that hold a read-side critical section while they are suspended.
 *
 * The task's scheduler calls rcu_task_park() on the thread that suspends the task and rcu_task_resume() on the thread
 * that continues it.  In between, grace periods wait for the task as they would for a running reader, and the thread is
 * free for other work.
 */
#ifndef RTRCU_TASK_H
#define RTRCU_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct reader_record;
struct reader_leaf;

/* @room base, parked */
struct rtrcu_link {
    struct rtrcu_link *next, *prev;
};

/* The library's data of one task, in memory that exists as long as the task.  Only the library accesses the fields. */
struct rcu_task {
    struct rtrcu_link link;       /* link in a thread's or a leaf's list.  @room parked */
    struct reader_record *record; /* atomic: while on a thread's list: that thread.  @room parked, section, reader */
    struct reader_leaf *leaf;     /* atomic: while on a leaf's list: that leaf.  @room parked, section, reader */
    int64_t position;             /* atomic for others: order within the leaf's list.  @room parked */
    const char *name;             /* the task's name, printed in reports, or NULL.  @room api, section, watch */
    /* The task that was mounted before this one and is of the same kind: both have a listed section, or neither has.
     * @room section, reader */
    struct rcu_task *below;
    uint32_t where;   /* atomic: enum parked_where: the list that has the task.  @room parked, section, api */
    uint32_t nesting; /* own nesting: number of sections that the task held when it was last parked.  @room section */
    uint32_t base;    /* nesting of the thread when the task was mounted.  @room section */
    uint32_t mounted; /* atomic: id of the thread on which the task is mounted, 0 = none.  @room section, parked */
    uint32_t outer_base; /* if mounted without a section: base of @below when this task was mounted.  @room section */
};

void rtrcu_task_init(struct rcu_task *task, const char *name);
void rtrcu_task_park(struct rcu_task *task);
void rtrcu_task_resume(struct rcu_task *task);
void rtrcu_task_exit(struct rcu_task *task);
void rtrcu_task_list(struct rcu_task *task);
void rtrcu_task_unlist(struct rcu_task *task);
bool rtrcu_task_blocking(const struct rcu_task *task);
void rtrcu_task_set_blocking_handler(void (*handler)(void));

/* Initialise @task; @name is kept by reference and may be NULL.  Any context. */
static inline void rcu_task_init(struct rcu_task *task, const char *name)
{
    rtrcu_task_init(task, name);
}

/*
 * rcu_task_park - take @task's sections off this thread, on which it runs and is about to be suspended.
 * Context:  the thread that runs it, in its scheduler's switch; not in signal handlers.  The task takes along the
 *           sections that it has opened since it was resumed, and those with which it was resumed; sections that the
 *           thread had open before stay.  A task that was not resumed on this thread takes over the open sections of
 *           the innermost task that was resumed there with a section, or, without such a task, all of the thread's.
 * Blocks:   no longer than a short priority-inheriting lock; constant cost, no allocation.  Without a section it does
 *           nothing.
 * Ordering: the section remains open: gps that began before or begin meanwhile wait for it. [O14]
 * Returns:  nothing; cannot fail.  A task that is parked already keeps its sections, and takes no more.
 */
static inline void rcu_task_park(struct rcu_task *task)
{
    rtrcu_task_park(task);
}

/*
 * rcu_task_resume - put @task's sections on this thread, on which it is about to continue or begin.
 * Context:  any thread, even inside sections of its own or of other tasks, before the task's code runs.  Nested tasks
 *           of one thread are resumed from the outermost inwards, and parked from the innermost outwards.  Each resume
 *           is followed by a park or an exit on the same thread.
 * Blocks:   never.
 * Ordering: none needed: the task stays listed until its outermost rcu_read_unlock().
 * Returns:  nothing; cannot fail.  A task that runs on this thread already is unchanged.
 */
static inline void rcu_task_resume(struct rcu_task *task)
{
    rtrcu_task_resume(task);
}

/* End @task; called on the thread where it is mounted, or while it is parked.  A section left open is reported and
 * ended. */
static inline void rcu_task_exit(struct rcu_task *task)
{
    rtrcu_task_exit(task);
}

/*
 * rcu_task_list - transfer the section that this thread entered last to @task alone, until rcu_task_unlist().
 * Context:  inside a section; for executors that poll a task repeatedly: the section is entered by rcu_read_lock() for
 *           the first poll and listed when the task is pending.  @task is not also parked or resumed.
 * Blocks:   as rcu_task_park().
 * Ordering: the section remains open wherever the task runs; later polls do not involve their threads. [O14]
 *           So rcu_read_lock_held() is false in them, and while any task is listed or parked, programs built with
 *           RTRCU_DEBUG do not check that rcu_dereference_check() and the walks of lists are inside a section.
 * Returns:  nothing; cannot fail.  The thread's nesting decreases by one.
 */
static inline void rcu_task_list(struct rcu_task *task)
{
    rtrcu_task_list(task);
}

/* End the section that rcu_task_list() listed; on any thread, never blocks for longer than a short lock.  Does nothing
 * if no section is listed. */
static inline void rcu_task_unlist(struct rcu_task *task)
{
    rtrcu_task_unlist(task);
}

/* Does a gp wait for @task, so that its scheduler should run it first?  A hint; any context, never blocks.  Always true
 * for a task that parked on a thread without a record, for lack of memory. */
static inline bool rcu_task_blocking(const struct rcu_task *task)
{
    return rtrcu_task_blocking(task);
}

/* Set a function that a thread of the library, which holds no lock, calls whenever a gp begins to wait for more parked
 * tasks; @handler calls rcu_task_blocking() for its own tasks.  Not called for tasks parked on threads without a
 * record.  Calls do not overlap.  NULL = none. */
static inline void rcu_task_set_blocking_handler(void (*handler)(void))
{
    rtrcu_task_set_blocking_handler(handler);
}

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Parked tasks: fibers, coroutines and async tasks that hold a read-side critical section while they are suspended.
 *
 * The task's scheduler calls rcu_task_park() on the thread where the task stops and rcu_task_resume() on the thread
 * where it goes on; between the two, grace periods wait for the task as they would for a running reader, and the thread
 * is free.
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

/* One a task, in memory that lives as long as the task.  Its fields are the library's. */
struct rcu_task {
    struct rtrcu_link link;       /* in a thread's or a leaf's list.  @room parked */
    struct reader_record *record; /* atomic: whose list it is on, while on a thread's.  @room parked, section, reader */
    struct reader_leaf *leaf;     /* atomic: whose list it is on, while on a leaf's.  @room parked, section, reader */
    int64_t position;             /* atomic for others: order within the leaf's list.  @room parked */
    const char *name;             /* as its runtime calls it, or NULL; for reports.  @room api, section, watch */
    struct rcu_task *below; /* mounted beneath it, both with a listed section or both without.  @room section, reader */
    uint32_t where;         /* atomic: on no list, a thread's, a leaf's.  @room parked, section, api */
    uint32_t nesting;       /* its share: sections that it held when it was parked last.  @room section */
    uint32_t base;          /* sections of the thread beneath it, while mounted.  @room section */
    uint32_t mounted;       /* atomic: on which thread, as numbered here; 0 = on none.  @room section, parked */
    uint32_t outer_base;    /* mounted without a section: what lies beneath @below, as mounted.  @room section */
};

void rtrcu_task_init(struct rcu_task *task, const char *name);
void rtrcu_task_park(struct rcu_task *task);
void rtrcu_task_resume(struct rcu_task *task);
void rtrcu_task_exit(struct rcu_task *task);
void rtrcu_task_list(struct rcu_task *task);
void rtrcu_task_unlist(struct rcu_task *task);
bool rtrcu_task_blocking(const struct rcu_task *task);
void rtrcu_task_set_blocking_handler(void (*handler)(void));

/* Prepare @task; @name is kept by reference and may be NULL.  Any context. */
static inline void rcu_task_init(struct rcu_task *task, const char *name)
{
    rtrcu_task_init(task, name);
}

/*
 * rcu_task_park - the task that runs on this thread is about to be suspended.
 * Context:  the thread that runs it, in its scheduler's switch; not in signal handlers.  Only the sections that the
 *           task has opened since it was resumed, and those with which it was resumed, go with it: those of the thread
 *           beneath it stay.  A task that was not resumed on this thread takes over what is open of the innermost task
 *           that was resumed there with a section, or, without such a task, all of the thread's.
 * Blocks:   no longer than a short priority-inheriting lock; constant cost, no allocation.  Without a section: nothing
 *           to do.
 * Ordering: the section goes on: gps that began before or begin meanwhile wait for it. [O14]
 * Returns:  nothing; cannot fail.  A task that is parked already keeps what it has, and takes no more.
 */
static inline void rcu_task_park(struct rcu_task *task)
{
    rtrcu_task_park(task);
}

/*
 * rcu_task_resume - @task goes on, on this thread, or begins here.
 * Context:  any thread, inside sections of its own or of other tasks too, before the task's code runs.  Tasks that run
 *           on one thread inside one another are resumed from the outermost inwards, and parked from the innermost
 *           outwards.  Each resume is followed by a park or an exit on the same thread.
 * Blocks:   never.
 * Ordering: none needed: the task stays listed until its outermost rcu_read_unlock().
 * Returns:  nothing; cannot fail.  A task that runs on this thread already stays as it is.
 */
static inline void rcu_task_resume(struct rcu_task *task)
{
    rtrcu_task_resume(task);
}

/* @task ends; on the thread where it is mounted, or parked.  A section left open is reported and closed. */
static inline void rcu_task_exit(struct rcu_task *task)
{
    rtrcu_task_exit(task);
}

/*
 * rcu_task_list - the section that this thread entered last becomes @task's alone, until rcu_task_unlist().
 * Context:  inside a section; for executors that poll a task again and again: the section is entered by rcu_read_lock()
 *           for the first poll and listed when the task is pending.  @task is not parked or resumed besides.
 * Blocks:   as rcu_task_park().
 * Ordering: the section goes on wherever the task runs; later polls do not touch their threads. [O14]
 *           So rcu_read_lock_held() is false in them, and while any task is listed or parked, programs built with
 *           RTRCU_DEBUG do not check that rcu_dereference_check() and the walks of lists are inside a section.
 * Returns:  nothing; cannot fail.  One nesting of the thread is given back.
 */
static inline void rcu_task_list(struct rcu_task *task)
{
    rtrcu_task_list(task);
}

/* The section that rcu_task_list() listed ends; on any thread, never blocks for longer than a short lock.  Nothing if
 * it was not listed. */
static inline void rcu_task_unlist(struct rcu_task *task)
{
    rtrcu_task_unlist(task);
}

/* Does a gp wait for @task, so that its scheduler should run it first?  A hint; any context, never blocks.  Of a task
 * that parked on a thread without a record, for want of memory, it says so always. */
static inline bool rcu_task_blocking(const struct rcu_task *task)
{
    return rtrcu_task_blocking(task);
}

/* @handler is called, by a thread of the library's that holds nothing, whenever parked tasks have come that a gp waits
 * for; it asks rcu_task_blocking() of its own.  It is not told of tasks that parked on threads without a record.  Calls
 * do not overlap.  NULL = none. */
static inline void rcu_task_set_blocking_handler(void (*handler)(void))
{
    rtrcu_task_set_blocking_handler(handler);
}

#ifdef __cplusplus
}
#endif

#endif

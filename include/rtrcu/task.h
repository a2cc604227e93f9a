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

struct rtrcu_link {
    struct rtrcu_link *next, *prev;
};

/* One a task, in memory that lives as long as the task.  Its fields are the library's. */
struct rcu_task {
    struct rtrcu_link link;       /* in a thread's or a leaf's list */
    struct reader_record *record; /* whose list it is on, while on a thread's */
    struct reader_leaf *leaf;     /* whose list it is on, while on a leaf's */
    int64_t position;             /* order within the leaf's list */
    const char *name;             /* as its runtime calls it, for reports; may be NULL */
    uint32_t where;               /* atomic: on no list, a thread's, a leaf's */
    uint32_t nesting;             /* sections that it holds while parked */
    uint32_t thread_id;           /* where it is mounted, 0 = parked */
    uint32_t reserved;
};

void rtrcu_task_init(struct rcu_task *task, const char *name);
void rtrcu_task_park(struct rcu_task *task);
void rtrcu_task_resume(struct rcu_task *task);
void rtrcu_task_exit(struct rcu_task *task);
bool rtrcu_task_blocking(const struct rcu_task *task);
void rtrcu_task_set_blocking_handler(void (*handler)(void));

/* Prepare @task; @name is kept by reference and may be NULL.  Any context. */
static inline void rcu_task_init(struct rcu_task *task, const char *name)
{
    rtrcu_task_init(task, name);
}

/*
 * rcu_task_park - the task that runs on this thread is about to be suspended.
 * Context:  the thread that runs it, in its scheduler's switch; not in signal handlers.
 * Blocks:   no longer than a short priority-inheriting lock; constant cost, no allocation.  Without a section: nothing
 * to do.
 * Ordering: the section goes on: gps that began before or begin meanwhile wait for it. [O14]
 * Returns:  nothing; cannot fail.  Afterwards the thread is outside any explicit section.
 */
static inline void rcu_task_park(struct rcu_task *task)
{
    rtrcu_task_park(task);
}

/*
 * rcu_task_resume - @task goes on, on this thread.
 * Context:  any thread outside explicit sections, before the task's code runs again.
 * Blocks:   never.
 * Ordering: none needed: the task stays listed until its outermost rcu_read_unlock().
 * Returns:  nothing; cannot fail.  Inside a section: a message, and the two sections are merged.
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

/* Does a gp wait for @task, so that its scheduler should run it first?  A hint; any context, never blocks. */
static inline bool rcu_task_blocking(const struct rcu_task *task)
{
    return rtrcu_task_blocking(task);
}

/* @handler is called, by the thread that turns the crank and holding no lock, when a gp has begun to wait for parked
 * tasks; it asks rcu_task_blocking() of its own.  It must not wait for a gp.  NULL = none. */
static inline void rcu_task_set_blocking_handler(void (*handler)(void))
{
    rtrcu_task_set_blocking_handler(handler);
}

#ifdef __cplusplus
}
#endif

#endif

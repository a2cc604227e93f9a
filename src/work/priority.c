/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The priority of a worker: the transitions of the table in work.h.
 *
 * tested by: test/unit/work/worker.cc
 */
#include "work/work.h"

void work_worker_begins(struct work_worker *worker, int priority)
{
    lock_init(&worker->lock, LOCK_RANK_WORKER);
    rtrcu_store_relaxed(&worker->priority, priority);
    rtrcu_store_relaxed(&worker->thread_id, 0);
}

void work_worker_appears(struct work_worker *worker)
{
    rtrcu_store_release(&worker->thread_id, lock_thread_number());
}

void work_worker_leaves(struct work_worker *worker)
{
    lock_acquire(&worker->lock);
    rtrcu_store_relaxed(&worker->priority, 0);
    rtrcu_store_relaxed(&worker->thread_id, 0);
    lock_release(&worker->lock);
}

static bool was_refused(const struct work_worker *worker, int priority)
{
    return worker->refused == priority && plat_clock_now() - worker->refused_ns < WORK_REFUSED_NS;
}

void work_refuse_rt(struct work *work, int error)
{
    if (counter_add(&work->rt_refused, 1) == 0) {
        plat_print("rtrcu: real-time scheduling is refused (error %d): expedited grace periods, boosting and callbacks"
                   " of real-time threads work at SCHED_OTHER; raise RLIMIT_RTPRIO or grant CAP_SYS_NICE (and give a"
                   " cgroup v1 some cpu.rt_runtime_us), or set RTRCU_KTHREAD_PRIO=0, RTRCU_GP_RTPRIO=0 and"
                   " RTRCU_KRCUD_RTPRIO=0\n",
                   -error);
    }
}

static void refuse(struct work_worker *worker, int priority, int error)
{
    worker->refused = priority;
    worker->refused_ns = plat_clock_now();
    work_refuse_rt(worker->work, error);
}

/* Change from @before to @priority, under the lock; @thread: none = the worker itself.  Returns the priority in
 * force. */
static int change(struct work_worker *worker, struct plat_tid thread, int before, int priority)
{
    must_hold(&worker->lock);
    if (before == priority || was_refused(worker, priority))
        return before;

    int error = plat_tid_is_nobody(thread) ? plat_sched_set(priority, 0) : plat_sched_lift(thread, priority);
    if (error) {
        refuse(worker, priority, error);
        return before;
    }

    rtrcu_store_relaxed(&worker->priority, priority);
    return priority;
}

void work_worker_settle(struct work_worker *worker, int (*wanted)(void *owner))
{
    lock_acquire(&worker->lock);
    int priority = wanted(worker->owner);
    (void)change(worker, PLAT_NOBODY, work_worker_priority(worker), priority);
    lock_release(&worker->lock);
}

void work_worker_lift(struct work_worker *worker, int priority)
{
    struct plat_tid thread = {rtrcu_load_acquire(&worker->thread_id)};
    if (plat_tid_is_nobody(thread))
        return; /* the worker has not read the wanted priority yet */

    lock_acquire(&worker->lock);
    int before = work_worker_priority(worker);
    int after = before < priority ? change(worker, thread, before, priority) : before;
    invariant("INV-DR4", after >= before);
    (void)after;
    lock_release(&worker->lock);
}

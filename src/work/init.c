/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Initialisation of the room, and its counters.
 *
 * tested by: test/api/drivers.cc
 */
#include "work/work.h"

void work_init(struct work *work, const struct config *config, struct reader_registry *registry, struct callback *cb,
               struct watch *watch, const struct work_driver *row, struct driver *driver)
{
    work->config = config;
    work->registry = registry;
    work->cb = cb;
    work->watch = watch;
    work->row = row;
    work->driver = driver;

    plat_thread_attr_init(&work->process);
    work->attr = work_attr_for(work, config_now(config));
    if (!work->attr)
        work->attr = &work->process;

    work_worker_init(work, WORK_WORKER_REPORT, &work_job_report, work);
    work_worker_init(work, WORK_WORKER_NOTIFY, &work_job_notify, work);
    work_worker_init(work, WORK_WORKER_SHARE, &work_job_share, work);
    lock_init(&work->rt.lock, LOCK_RANK_SHARE);
}

void work_end_after(struct work *work, bool (*any)(void *owner), void *owner)
{
    int room = 0;
    while (work->invokers[room].any) /* ends: the array has a free place for this room */
        room++;
    work->invokers[room] = (struct work_invokers){any, owner};
}

/* Resets the state of all threads.  A library thread that forked continues in the child; other library threads are
 * created again when needed. */
void work_after_fork_child(struct work *work, struct plat_tid old_thread_id)
{
    rtrcu_store_relaxed(&work->threads, 0);
    rtrcu_store_relaxed(&work->main_ended, 0);

    for (int i = 0; i < WORK_WORKERS; i++)
        work_worker_after_fork_child(&work->worker[i], old_thread_id);
    (void)work_thread_after_fork(work, &work->thread, old_thread_id);
    (void)work_thread_after_fork(work, &work->end, old_thread_id);

    work_rt_after_fork_child(work);
    work->visit = (struct work_visit){0};
    work->urgent = 0;
    work->refused_ns = 0;
    work->survivor = lock_thread_id();
}

void work_stats(const struct work *work, struct rtrcu_stats *stats)
{
    stats->driver_wakeups = counter_read(&work->wakeups);
    stats->rt_refused = counter_read(&work->rt_refused);
}

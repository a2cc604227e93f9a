/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fork: short locks are held across it, threads and cranks are forgotten in the child and made again when first needed.
 *
 * tested by: test/api/fork.cc
 */
#include "drive/drive.h"

static void each_tasks_lock(struct reader_registry *registry, void (*act)(struct lock *))
{
    for (uint32_t i = 0; i < reader_leaf_count(registry); i++) {
        struct reader_leaf *leaf = reader_leaf_at(registry, i);
        for (uint32_t slot = 0; leaf && slot < READER_FANOUT; slot++)
            act(&leaf->records[slot].tasks_lock);
    }
}

static void release_if_mine(struct lock *lock)
{
    if (lock_is_mine(lock))
        lock_release(lock);
}

void drive_before_fork(struct drive *drive)
{
    struct reader_registry *registry = drive->gp->registry;
    for (uint32_t i = 0; i < reader_leaf_count(registry); i++) {
        struct reader_leaf *leaf = reader_leaf_at(registry, i);
        if (leaf)
            lock_acquire_same_rank(&leaf->lock);
    }
    each_tasks_lock(registry, lock_acquire_same_rank);
    for (uint32_t cpu = 0; cpu < PLAT_CPU_MAX; cpu++) {
        if (rtrcu_load_acquire(&drive->krcud[cpu].thread.state) != DRIVE_NONE)
            lock_acquire_same_rank(&drive->krcud[cpu].lock);
    }
}

void drive_after_fork_parent(struct drive *drive)
{
    struct reader_registry *registry = drive->gp->registry;
    each_tasks_lock(registry, release_if_mine);
    for (uint32_t cpu = 0; cpu < PLAT_CPU_MAX; cpu++) {
        if (lock_is_mine(&drive->krcud[cpu].lock))
            lock_release(&drive->krcud[cpu].lock);
    }
    for (uint32_t i = 0; i < reader_leaf_count(registry); i++) {
        struct reader_leaf *leaf = reader_leaf_at(registry, i);
        if (leaf && lock_is_mine(&leaf->lock))
            lock_release(&leaf->lock);
    }
}

void drive_after_fork_child(struct drive *drive, uint32_t old_thread_id)
{
    struct reader_registry *registry = drive->gp->registry;
    for (uint32_t i = 0; i < reader_leaf_count(registry); i++) {
        struct reader_leaf *leaf = reader_leaf_at(registry, i);
        if (leaf)
            blocked_after_fork(leaf, old_thread_id);
    }
    lock_reset(&drive->config_lock);
    lock_reset(&drive->barrier_lock);
    for (uint32_t cpu = 0; cpu < PLAT_CPU_MAX; cpu++) {
        struct krcud *krcud = &drive->krcud[cpu];
        lock_reset(&krcud->lock);
        krcud->first = krcud->last = NULL;
        krcud->event = krcud->sleeping = 0;
        drive_thread_after_fork(&krcud->thread, old_thread_id);
    }
    watch_after_fork(drive->watch);
    for (int i = 0; i < DRIVE_WORKERS; i++)
        drive->worker[i] = (struct drive_worker){.drive = drive};
    for (int i = 0; i < 4; i++)
        drive->exp_waiters[i] = 0;
    drive_thread_after_fork(&drive->thread, old_thread_id);
    drive->event = drive->urgent = drive->progress_waiters = 0;
    drive->sleeping = DRIVE_AWAKE;
    for (int kind = 0; kind < GP_KINDS; kind++)
        drive->turn_waiters[kind] = 0;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fork: no list of a thread is half changed in the child, which keeps the tasks that are parked and drops those that
 * are mounted in threads that are not there.
 *
 * tested by: test/api/fork.cc
 */
#include "parked/parked.h"

void parked_before_fork(struct reader_registry *registry)
{
    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_leaf(registry, leaf));) {
        for (uint32_t slot = 0; slot < READER_FANOUT; slot++)
            lock_acquire_same_rank(&parked_leaf(leaf)->slot[slot].lock);
    }
}

/* A leaf that a thread has hung meanwhile was not locked. */
void parked_after_fork_parent(struct reader_registry *registry)
{
    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_leaf(registry, leaf));) {
        for (uint32_t slot = 0; slot < READER_FANOUT; slot++) {
            struct lock *lock = &parked_leaf(leaf)->slot[slot].lock;
            if (lock_is_mine(lock))
                lock_release(lock);
        }
    }
}

/* Drop those of a list that are mounted elsewhere, and put the others on the leaf's: the child's grace periods look for
 * no thread but the one that forked.  Returns how many stay. */
static uint32_t keep_parked(struct parked_leaf *part, struct rtrcu_link *head)
{
    uint32_t left = 0;
    for (struct rtrcu_link *link = head->next, *next; link != head; link = next) {
        struct rcu_task *task = container_of(link, struct rcu_task, link);
        next = link->next;
        bool stays = task->mounted == 0 || task->mounted == rtrcu_self.mount_id;
        if (stays && head == &part->tasks) {
            left++;
            continue;
        }
        list_remove(link);
        task->record = NULL;
        task->leaf = NULL;
        task->where = PARKED_NOWHERE;
        if (!stays)
            continue;
        task->position = --part->first_position;
        list_insert_first(&part->tasks, link);
        task->leaf = part->leaf;
        task->where = PARKED_ON_LEAF;
        left++;
    }
    return left;
}

static void keep_leaf(struct parked_leaf *part)
{
    for (unsigned int kind = 0; kind < READER_KINDS; kind++) {
        part->boundary[kind] = NULL;
        part->boundary_position[kind] = INT64_MAX;
    }
    part->count = keep_parked(part, &part->tasks);
    for (uint32_t slot = 0; slot < READER_FANOUT; slot++) {
        lock_reset(&part->slot[slot].lock);
        part->count += keep_parked(part, &part->slot[slot].tasks);
        part->slot[slot].count = 0;
    }
}

void parked_after_fork_child(struct reader_registry *registry)
{
    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_leaf(registry, leaf));) {
        struct reader_record *record;
        keep_leaf(parked_leaf(leaf));
        reader_lock(leaf);
        for (uint32_t left = READER_ALL_SLOTS; (record = reader_next(leaf, &left));)
            reader_let_go(record, READER_PARKED);
        reader_unlock(leaf);
    }
}

/* ---- tasks that are counted ----
 * No list speaks for them, and a child cannot find those that it drops to tell them.  So each carries in `position` how
 * many forks it knows of, and whether it is parked: one that knows of fewer, is not parked and not mounted on the
 * thread that forked was dropped, and its end counts nothing.  All changes are made under the first leaf's lock, which
 * a fork holds: a child never has half of one. */

#define IS_PARKED 1

/* Under the lock. */
static void set_parked(struct reader_registry *registry, struct rcu_task *task, bool parked)
{
    int32_t was = (int32_t)(rtrcu_load_relaxed(&task->position) & IS_PARKED);
    reader_anonymous_parked_add(registry, (parked ? 1 : 0) - was);
    rtrcu_store_relaxed(&task->position, (int64_t)reader_forks(registry) << 1 | (parked ? IS_PARKED : 0));
}

static bool was_dropped(const struct reader_registry *registry, const struct rcu_task *task)
{
    int64_t position = rtrcu_load_relaxed(&task->position);
    bool old = position >> 1 != (int64_t)reader_forks(registry);
    return old && !(position & IS_PARKED) && !reader_is_survivor(registry, rtrcu_load_relaxed(&task->mounted));
}

void parked_count(struct reader_registry *registry, struct rcu_task *task)
{
    struct reader_leaf *first = reader_leaf_at(registry, 0);
    reader_lock(first);
    if (rtrcu_load_relaxed(&task->where) != PARKED_COUNTED) {
        rtrcu_store_relaxed(&task->position, 0);
        rtrcu_store_relaxed(&task->where, PARKED_COUNTED);
        reader_anonymous_enter(registry);
    }
    set_parked(registry, task, true);
    reader_unlock(first);
}

void parked_count_mounted(struct reader_registry *registry, struct rcu_task *task)
{
    struct reader_leaf *first = reader_leaf_at(registry, 0);
    reader_lock(first);
    set_parked(registry, task, false);
    rtrcu_store_relaxed(&task->mounted, reader_mount_id(registry));
    reader_unlock(first);
}

/* A child goes by what this says, and counts anew: so the count itself may follow behind the lock. */
bool parked_uncount(struct reader_registry *registry, struct rcu_task *task)
{
    struct reader_leaf *first = reader_leaf_at(registry, 0);
    reader_lock(first);
    bool dropped = was_dropped(registry, task);
    set_parked(registry, task, false);
    rtrcu_store_relaxed(&task->where, PARKED_NOWHERE);
    reader_unlock(first);
    return !dropped;
}

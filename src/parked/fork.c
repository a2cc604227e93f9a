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
static uint32_t keep_parked_after_fork(struct parked_leaf *part, struct rtrcu_link *head)
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

static void keep_leaf_after_fork(struct parked_leaf *part)
{
    for (unsigned int kind = 0; kind < READER_KINDS; kind++) {
        part->boundary[kind] = NULL;
        part->boundary_position[kind] = INT64_MAX;
    }
    part->count = keep_parked_after_fork(part, &part->tasks);
    for (uint32_t slot = 0; slot < READER_FANOUT; slot++) {
        lock_reset(&part->slot[slot].lock);
        part->count += keep_parked_after_fork(part, &part->slot[slot].tasks);
        part->slot[slot].count = 0;
    }
    rtrcu_store_relaxed(&part->holders, 0);
    reader_list_tasks(part->leaf, part->count != 0);
}

/* Those that are counted, and run on the thread that forked. */
static void keep_counted(struct reader_registry *registry)
{
    for (const struct rcu_task *task = NULL; (task = reader_self_next_task(task));) {
        uint32_t where = rtrcu_load_relaxed(&task->where);
        if (parked_is_counted(where))
            reader_anonymous_enter(registry, parked_group(where));
    }
}

void parked_after_fork_child(struct reader_registry *registry)
{
    keep_counted(registry);
    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_leaf(registry, leaf));) {
        struct reader_record *record;
        keep_leaf_after_fork(parked_leaf(leaf));
        reader_lock(leaf);
        for (uint32_t left = READER_ALL_SLOTS; (record = reader_next(leaf, &left));)
            reader_let_go(record, READER_PARKED);
        reader_unlock(leaf);
    }
}

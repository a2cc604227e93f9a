/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Repair of the lists of parked tasks in a fork's child, which may find them half changed.  The child keeps the parked
 * tasks, and drops tasks mounted on threads that it does not have.
 *
 * The child has each other thread's stores up to some moment, and none after it.  At any moment a list is complete in
 * the forward direction (base/list.h).
 *  - the task was put on a list:  the list contains it, since its link was stored before;
 *  - it was not, or no longer:    it was not parked yet, its section was about to end, or it was being promoted.  From
 *                                 before a promotion unlinks it until it is on a list again, the task is `moving`.
 * Forbidden: a task was parked AND the child has it on no list.
 *
 * tested by: test/api/fork.cc
 */
#include "parked/parked.h"

/* Drop @task if it is mounted on another thread, else put it on the leaf's list: of the threads' lists, the child's
 * grace periods scan only that of the thread that forked. */
static void list_after_fork(struct parked_leaf *part, struct rcu_task *task)
{
    bool stays = task->mounted == 0 || task->mounted == rtrcu_self.mount_id;
    task->record = NULL;
    task->leaf = stays ? part->leaf : NULL;
    task->where = stays ? PARKED_ON_LEAF : PARKED_NOWHERE;
    if (!stays)
        return;

    part->count++;
    task->position = ++part->last_position;
    list_insert_last(&part->tasks, &task->link);
}

/* Apply list_after_fork() to each task of a list.  A thread that does not exist in the child may have been changing the
 * list: its forward links are complete, its backward links may not be. */
static void list_all_after_fork(struct parked_leaf *part, struct rtrcu_link *head)
{
    struct rtrcu_link *link = head->next, *next;
    list_head_init(head);
    for (; link != head; link = next) {
        next = link->next;
        list_after_fork(part, container_of(link, struct rcu_task, link));
    }
}

static void keep_leaf_after_fork(struct parked_leaf *part)
{
    struct rcu_task *between = part->moving;

    for (unsigned int kind = 0; kind < READER_KINDS; kind++) {
        part->boundary[kind] = NULL;
        part->boundary_position[kind] = INT64_MAX;
    }

    part->count = 0;
    part->moving = NULL;

    /* A task that was being promoted may be on a list or on none: treat it as on none until a list is found to have
     * it. */
    if (between)
        between->where = PARKED_NOWHERE;
    list_all_after_fork(part, &part->tasks);

    for (uint32_t slot = 0; slot < READER_FANOUT; slot++) {
        lock_reset(&part->slot[slot].lock);
        list_all_after_fork(part, &part->slot[slot].tasks);
        part->slot[slot].count = 0;
    }

    lock_reset(&part->counted.lock);
    list_all_after_fork(part, &part->counted.tasks); /* in the child these tasks are on lists, and none is counted */

    if (between && between->where == PARKED_NOWHERE) /* no list contains the task */
        list_after_fork(part, between);

    rtrcu_store_relaxed(&part->holders, 0);
    reader_list_tasks(part->leaf, part->count != 0);
}

void parked_after_fork_child(struct reader_registry *registry)
{
    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_leaf(registry, leaf));) {
        struct reader_record *record;
        keep_leaf_after_fork(parked_leaf(leaf));

        reader_lock(leaf);
        for (uint32_t left = READER_ALL_SLOTS; (record = reader_next(leaf, &left));)
            reader_release_slot(record, READER_PARKED);
        reader_unlock(leaf);
    }
}

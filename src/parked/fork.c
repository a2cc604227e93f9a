/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fork: lists may be half changed in the child, which keeps the tasks that are parked and drops those that are mounted
 * in threads that are not there.
 *
 * The child has a moment of each other thread: what it stored before, and nothing later.  A list is whole on the way
 * forward at any moment (base/list.h).
 *  - the task was put on:     its link is there too, which was stored before;
 *  - it was not, or no more:  it was not parked yet, its section was about to end, or it was promoted: then it is
 *                             `moving`, which was stored before it was taken off, and is until it is on again.
 * Forbidden: a task was parked AND the child has it on no list.
 *
 * tested by: test/api/fork.cc
 */
#include "parked/parked.h"

/* Those that are mounted elsewhere are dropped, the others go on the leaf's list: the child's grace periods look for no
 * thread but the one that forked. */
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

/* The thread that was changing the list is not there: the way forward is whole, the way back may be torn. */
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

    /* The task that a promotion was moving may be on a list or on none: it counts as on none until a list has it. */
    if (between)
        between->where = PARKED_NOWHERE;
    list_all_after_fork(part, &part->tasks);

    for (uint32_t slot = 0; slot < READER_FANOUT; slot++) {
        lock_reset(&part->slot[slot].lock);
        list_all_after_fork(part, &part->slot[slot].tasks);
        part->slot[slot].count = 0;
    }

    lock_reset(&part->counted.lock);
    list_all_after_fork(part, &part->counted.tasks); /* the child counts none of them: the leaf's list speaks for all */

    if (between && between->where == PARKED_NOWHERE) /* no list had it */
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

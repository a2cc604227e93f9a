/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Lists of blocked tasks: a thread's own, its leaf's with a boundary for each kind of grace period, and promotion
 * between.
 *
 * tested by: test/unit/blocked/blocked.cc
 */
#include "blocked/blocked.h"

static struct rcu_task *task_of(struct rtrcu_link *link)
{
    return container_of(link, struct rcu_task, link);
}

void blocked_add_to_thread(struct reader_record *record, struct rcu_task *task)
{
    lock_acquire(&record->tasks_lock);
    if (!record->tasks.next)
        list_head_init(&record->tasks);
    list_insert_last(&record->tasks, &task->link);
    rtrcu_store_relaxed(&task->record, record);
    rtrcu_store_release(&task->where, BLOCKED_ON_THREAD);
    rtrcu_store_relaxed(&record->parked, record->parked + 1);
    lock_release(&record->tasks_lock);
}

static void set_boundary(struct reader_leaf *leaf, unsigned int kind, struct rcu_task *task)
{
    leaf->boundary[kind] = task;
    rtrcu_store_relaxed(&leaf->boundary_position[kind], task ? task->position : INT64_MAX);
}

static void put(struct reader_leaf *leaf, struct rcu_task *task, enum blocked_place place)
{
    switch (place) {
    case BLOCKED_AT_HEAD:
        rtrcu_store_relaxed(&task->position, --leaf->first_position);
        list_insert_first(&leaf->tasks, &task->link);
        return;
    case BLOCKED_AT_TAIL:
        rtrcu_store_relaxed(&task->position, ++leaf->last_position);
        list_insert_last(&leaf->tasks, &task->link);
        return;
    case BLOCKED_AFTER_EXP:
    case BLOCKED_AFTER_GP: {
        struct rcu_task *boundary = leaf->boundary[place == BLOCKED_AFTER_EXP ? 1 : 0];
        rtrcu_store_relaxed(&task->position, boundary->position); /* INV-BL2: equal is not falling */
        list_insert_after(&boundary->link, &task->link);
        return;
    }
    }
}

unsigned int blocked_add_to_leaf(struct reader_leaf *leaf, struct rcu_task *task, unsigned int threads)
{
    unsigned int state = threads, fresh = 0;
    must_hold(&leaf->lock);
    if (!leaf->tasks.next)
        list_head_init(&leaf->tasks);
    state |= leaf->boundary[0] ? BLOCKED_GP_TASKS : 0;
    state |= leaf->boundary[1] ? BLOCKED_EXP_TASKS : 0;
    put(leaf, task, blocked_place(state));
    rtrcu_store_relaxed(&task->leaf, leaf);
    rtrcu_store_release(&task->where, BLOCKED_ON_LEAF);
    rtrcu_store_relaxed(&leaf->parked, leaf->parked + 1);
    for (unsigned int kind = 0; kind < READER_KINDS; kind++) {
        if (leaf->boundary[kind] || !(threads & (unsigned int)BLOCKED_GP_THREAD << kind))
            continue;
        set_boundary(leaf, kind, task);
        fresh |= 1u << kind;
    }
    return fresh;
}

/* [O14] Promotion half; the parking half is section_task_park().  Whoever is about to count a thread as outside has
 * read its word as 0 with an acquire, and only then looks at its list: a task that parked before the word became 0 is
 * on it.
 *  - the list first, then the word (parking); the word first, then the list (here).
 * Forbidden: the word is 0, AND the list does not show the task whose section began before.   litmus: O14 */
unsigned int blocked_promote(struct reader_record *record, unsigned int threads, uint32_t *moved)
{
    unsigned int fresh = 0;
    must_hold(&record->leaf->lock);
    *moved = 0;
    if (rtrcu_load_acquire(&record->parked) == 0)
        return 0;
    lock_acquire(&record->tasks_lock);
    while (!list_is_empty(&record->tasks) && *moved < BLOCKED_PROMOTE_MAX) {
        struct rcu_task *task = task_of(record->tasks.next);
        list_remove(&task->link);
        /* The leaf before the record: an unlock that finds the record gone waits for the leaf's lock, which we hold and
         * which lends us its priority; it must not spin until we run again. */
        rtrcu_store_relaxed(&task->leaf, record->leaf);
        rtrcu_store_release(&task->record, NULL);
        fresh |= blocked_add_to_leaf(record->leaf, task, threads);
        ++*moved;
    }
    lock_release(&record->tasks_lock);
    return fresh;
}

/* [O15] Promoter's half; the owner's half is tasks_permit_report(), which clears the thread's bit without the lock.
 *  - our count first:      the owner reads it behind the flags of the leaf's word, and clears its bit behind them;
 *  - the owner's load first: it sees tasks, and waits for the leaf's lock.
 * Forbidden: the word loses the thread's bit AND has no flag yet for the tasks that were moved.   litmus: O15 */
void blocked_promoted(struct reader_record *record, uint32_t moved)
{
    must_hold(&record->leaf->lock);
    if (moved == 0)
        return;
    lock_acquire(&record->tasks_lock);
    rtrcu_store_release(&record->parked, record->parked - moved);
    lock_release(&record->tasks_lock);
}

bool blocked_begin(struct reader_leaf *leaf, unsigned int kind)
{
    must_hold(&leaf->lock);
    invariant("INV-BL1", leaf->boundary[kind] == NULL);
    if (list_is_empty(&leaf->tasks))
        return false;
    set_boundary(leaf, kind, task_of(leaf->tasks.next));
    return true;
}

bool blocked_remove_from_thread(struct rcu_task *task)
{
    struct reader_record *record = rtrcu_load_acquire(&task->record);
    if (rtrcu_load_acquire(&task->where) != BLOCKED_ON_THREAD || !record)
        return false;
    lock_acquire(&record->tasks_lock);
    bool there = rtrcu_load_relaxed(&task->where) == BLOCKED_ON_THREAD && rtrcu_load_relaxed(&task->record) == record;
    if (there) {
        list_remove(&task->link);
        rtrcu_store_relaxed(&task->record, NULL);
        rtrcu_store_relaxed(&record->parked, record->parked - 1);
        rtrcu_store_release(&task->where, BLOCKED_NOWHERE);
    }
    lock_release(&record->tasks_lock);
    return there;
}

struct rcu_task *blocked_next(struct reader_leaf *leaf, struct rcu_task *task)
{
    return task->link.next == &leaf->tasks ? NULL : task_of(task->link.next);
}

unsigned int blocked_remove_from_leaf(struct reader_leaf *leaf, struct rcu_task *task)
{
    unsigned int last = 0;
    must_hold(&leaf->lock);
    struct rcu_task *behind = blocked_next(leaf, task);
    invariant("INV-BL2", !behind || behind->position >= task->position);
    for (unsigned int kind = 0; kind < READER_KINDS; kind++) {
        if (leaf->boundary[kind] != task)
            continue;
        set_boundary(leaf, kind, behind);
        last |= behind ? 0 : 1u << kind;
    }
    list_remove(&task->link);
    rtrcu_store_relaxed(&task->leaf, NULL);
    rtrcu_store_relaxed(&leaf->parked, leaf->parked - 1);
    rtrcu_store_release(&task->where, BLOCKED_NOWHERE);
    return last;
}

bool blocked_is_waited_for(const struct rcu_task *task)
{
    const struct reader_leaf *leaf = rtrcu_load_relaxed(&task->leaf);
    if (rtrcu_load_acquire(&task->where) != BLOCKED_ON_LEAF || !leaf)
        return false;
    int64_t position = rtrcu_load_relaxed(&task->position);
    return position >= rtrcu_load_relaxed(&leaf->boundary_position[0]) ||
           position >= rtrcu_load_relaxed(&leaf->boundary_position[1]);
}

/* Drop those of a list that are mounted elsewhere, and put the others on the leaf's: the child's grace periods look for
 * no thread but the one that forked.  Returns how many stay. */
static uint32_t keep_parked(struct reader_leaf *leaf, struct rtrcu_link *head)
{
    uint32_t left = 0;
    for (struct rtrcu_link *link = head->next, *next; link && link != head; link = next) {
        struct rcu_task *task = task_of(link);
        next = link->next;
        bool stays = task->mounted == 0 || task->mounted == rtrcu_self.mount_id;
        if (stays && head == &leaf->tasks) {
            left++;
            continue;
        }
        list_remove(link);
        task->record = NULL;
        task->leaf = NULL;
        task->where = BLOCKED_NOWHERE;
        if (!stays)
            continue;
        put(leaf, task, BLOCKED_AT_HEAD);
        task->leaf = leaf;
        task->where = BLOCKED_ON_LEAF;
        left++;
    }
    return left;
}

void blocked_after_fork(struct reader_leaf *leaf)
{
    for (unsigned int kind = 0; kind < READER_KINDS; kind++)
        set_boundary(leaf, kind, NULL);
    if (!leaf->tasks.next)
        list_head_init(&leaf->tasks);
    leaf->parked = keep_parked(leaf, &leaf->tasks);
    for (uint32_t slot = 0; slot < READER_FANOUT; slot++) {
        struct reader_record *record = &leaf->records[slot];
        lock_reset(&record->tasks_lock);
        leaf->parked += keep_parked(leaf, &record->tasks);
        record->parked = 0;
    }
}

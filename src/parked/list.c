/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Lists of parked tasks: one per thread, and one per leaf with a boundary for each kind of grace period; promotion from
 * the former to the latter.
 *
 * tested by: test/unit/parked/parked.cc
 */
#include "parked/parked.h"

void parked_leaf_init(struct parked_leaf *part, struct reader_leaf *leaf)
{
    part->leaf = leaf;

    list_head_init(&part->tasks);
    for (int kind = 0; kind < READER_KINDS; kind++)
        part->boundary_position[kind] = INT64_MAX;

    for (uint32_t slot = 0; slot < READER_FANOUT; slot++) {
        lock_init(&part->slot[slot].lock, LOCK_RANK_TASKS);
        list_head_init(&part->slot[slot].tasks);
    }

    lock_init(&part->counted.lock, LOCK_RANK_TASKS);
    list_head_init(&part->counted.tasks);

    reader_leaf_join(leaf, READER_PARKED, part);
}

uint32_t parked_on_leaf(const struct reader_leaf *leaf)
{
    return rtrcu_load_acquire(&parked_leaf(leaf)->count);
}

bool parked_any(struct reader_registry *registry)
{
    if (reader_self() && parked_on_thread(reader_self()) != 0)
        return true;

    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_leaf(registry, leaf));) {
        if (parked_on_leaf(leaf) != 0)
            return true;
    }
    return false;
}

/* Reads the counts of a leaf's threads before that of the leaf.  A promotion raises the leaf's count before it lowers
 * the thread's, so no task is missed. */
bool parked_anywhere(struct reader_registry *registry)
{
    for (struct reader_leaf *leaf = NULL; (leaf = reader_next_leaf(registry, leaf));) {
        for (uint32_t slots = parked_holders(leaf); slots;) {
            if (parked_on_thread(reader_next(leaf, &slots)) != 0)
                return true;
        }
        if (parked_on_leaf(leaf) != 0)
            return true;
    }
    return reader_anonymous(registry) != 0;
}

static struct rcu_task *task_of(struct rtrcu_link *link)
{
    return container_of(link, struct rcu_task, link);
}

/* Set the thread's bit in `holders`.  The bit stays set until a scan finds the list empty, so that threads do not write
 * the shared word each time a task parks. */
static void hold(const struct reader_record *record)
{
    uint32_t *holders = &parked_leaf(reader_leaf_of(record))->holders;
    if (!(rtrcu_load_relaxed(holders) & reader_bit(record)))
        rtrcu_fetch_or(holders, reader_bit(record));
}

void parked_holds_nothing(struct reader_record *record)
{
    struct parked_slot *slot = parked_slot(record);
    reader_must_hold(reader_leaf_of(record));

    lock_acquire(&slot->lock);
    if (rtrcu_load_relaxed(&slot->count) == 0)
        rtrcu_fetch_and(&parked_leaf(reader_leaf_of(record))->holders, ~reader_bit(record));
    lock_release(&slot->lock);
}

/* Insert @task after @before in the list of @record's thread.  Under the slot's lock. */
static void insert_on_thread(struct reader_record *record, struct rcu_task *task, struct rtrcu_link *before)
{
    struct parked_slot *slot = parked_slot(record);
    list_insert_after(before, &task->link);
    rtrcu_store_relaxed(&task->record, record);
    rtrcu_store_release(&task->where, PARKED_ON_THREAD);
    rtrcu_store_relaxed(&slot->count, rtrcu_load_relaxed(&slot->count) + 1);
}

void parked_add_to_thread(struct reader_record *record, struct rcu_task *task)
{
    struct parked_slot *slot = parked_slot(record);
    lock_acquire(&slot->lock);
    hold(record);
    insert_on_thread(record, task, slot->tasks.prev);
    lock_release(&slot->lock);
}

/* Lock the slot of the thread on whose list @task is, and return its record.  NULL, with nothing locked: @task is not,
 * or no longer, on a thread's list. */
static struct reader_record *lock_slot_of(const struct rcu_task *task)
{
    struct reader_record *record = rtrcu_load_acquire(&task->record);
    if (rtrcu_load_acquire(&task->where) != PARKED_ON_THREAD || !record)
        return NULL;

    struct parked_slot *slot = parked_slot(record);
    lock_acquire(&slot->lock);

    /* The task may have left that list before the lock was taken. */
    if (rtrcu_load_relaxed(&task->where) == PARKED_ON_THREAD && rtrcu_load_relaxed(&task->record) == record)
        return record;
    lock_release(&slot->lock);
    return NULL;
}

bool parked_follow_on_thread(struct rcu_task *older, struct rcu_task *task)
{
    struct reader_record *record = lock_slot_of(older);
    if (!record)
        return false;

    insert_on_thread(record, task, &older->link);
    lock_release(&parked_slot(record)->lock);
    return true;
}

static void set_boundary(struct parked_leaf *part, unsigned int kind, struct rcu_task *task)
{
    part->boundary[kind] = task;
    rtrcu_store_relaxed(&part->boundary_position[kind], task ? task->position : INT64_MAX);
}

static void put_behind(struct rcu_task *task, struct rcu_task *older)
{
    rtrcu_store_relaxed(&task->position, older->position); /* INV-BL2: an equal position does not decrease */
    list_insert_after(&older->link, &task->link);
}

static void put(struct parked_leaf *part, struct rcu_task *task, enum parked_place place)
{
    switch (place) {
    case PARKED_AT_HEAD:
        rtrcu_store_relaxed(&task->position, --part->first_position);
        list_insert_first(&part->tasks, &task->link);
        return;
    case PARKED_AT_TAIL:
        rtrcu_store_relaxed(&task->position, ++part->last_position);
        list_insert_last(&part->tasks, &task->link);
        return;
    case PARKED_AFTER_EXP:
    case PARKED_AFTER_GP:
        put_behind(task, part->boundary[place == PARKED_AFTER_EXP ? 1 : 0]);
        return;
    }
}

static bool waits_for(const struct parked_leaf *part, unsigned int kind, const struct rcu_task *task)
{
    return rtrcu_load_relaxed(&task->position) >= rtrcu_load_relaxed(&part->boundary_position[kind]);
}

static void arrive_on_leaf(struct parked_leaf *part, struct rcu_task *task)
{
    rtrcu_store_relaxed(&task->leaf, part->leaf);
    rtrcu_store_release(&task->where, PARKED_ON_LEAF);
    rtrcu_store_relaxed(&part->count, rtrcu_load_relaxed(&part->count) + 1);
}

struct reader_kinds parked_follow_on_leaf(struct reader_leaf *leaf, struct rcu_task *older, struct rcu_task *task)
{
    struct parked_leaf *part = parked_leaf(leaf);
    struct reader_kinds waits = {0};
    reader_must_hold(leaf);

    put_behind(task, older);
    arrive_on_leaf(part, task);

    for (unsigned int kind = 0; kind < READER_KINDS; kind++) {
        if (waits_for(part, kind, task))
            reader_kinds_add(&waits, kind);
    }

    return waits;
}

struct reader_kinds parked_add_to_leaf(struct reader_leaf *leaf, struct rcu_task *task, struct reader_kinds thread)
{
    struct parked_leaf *part = parked_leaf(leaf);
    struct reader_kinds tasks = {0}, fresh = {0};
    reader_must_hold(leaf);

    for (unsigned int kind = 0; kind < READER_KINDS; kind++) {
        if (part->boundary[kind])
            reader_kinds_add(&tasks, kind);
    }

    reader_list_tasks(leaf, true); /* [O21] */
    put(part, task, parked_place(tasks, thread));
    arrive_on_leaf(part, task);

    for (unsigned int kind = 0; kind < READER_KINDS; kind++) {
        if (reader_kinds_has(tasks, kind) || !reader_kinds_has(thread, kind))
            continue;
        set_boundary(part, kind, task);
        reader_kinds_add(&fresh, kind);
    }

    return fresh;
}

void parked_lock_list(struct reader_record *record)
{
    lock_acquire(&parked_slot(record)->lock);
}

void parked_unlock_list(struct reader_record *record)
{
    lock_release(&parked_slot(record)->lock);
}

/* [O14] Promotion half; the parking half is section_task_park().  A scan that is about to count a thread as outside has
 * read the thread's word as 0 with an acquire, and only then reads the thread's list: that list has each task that
 * parked before the word became 0.
 *  - Parking:    stores the list first, then the word;
 *  - promotion:  reads the word first, then the list.
 * Forbidden: the word is 0, AND the list does not show a task that parked before the word became 0. */
struct reader_kinds parked_promote(struct reader_record *record, struct reader_kinds thread, uint32_t *moved)
{
    struct reader_leaf *leaf = reader_leaf_of(record);
    struct parked_slot *slot = parked_slot(record);
    struct reader_kinds fresh = {0};
    reader_must_hold(leaf);

    *moved = 0;
    while (!list_is_empty(&slot->tasks) && *moved < PARKED_PROMOTE_MAX) {
        struct rcu_task *task = task_of(slot->tasks.next);

        /* While the task is on no list, a fork's child finds it by `moving`. */
        parked_leaf(leaf)->moving = task;
        rtrcu_fence_light();
        list_remove(&task->link);

        /* Set the leaf before the record is cleared: an unlock that finds the record cleared waits for the leaf's lock,
         * which boosts the promoter; it must not spin until the promoter runs again. */
        rtrcu_store_relaxed(&task->leaf, leaf);
        rtrcu_store_release(&task->record, NULL);

        reader_kinds_join(&fresh, parked_add_to_leaf(leaf, task, thread));
        ++*moved;
    }

    rtrcu_fence_light();
    parked_leaf(leaf)->moving = NULL;
    return fresh;
}

/* [O15] Promoter's half; the owner's half is tasks_permit_report(), which clears the thread's bit without the lock.
 *  - Our count first:  the owner reads no tasks, and clears its bit after the flags of the leaf's word were set;
 *  - The owner's load first:  the owner reads that it has tasks, and waits for the leaf's lock.
 * Forbidden: the leaf's word loses the thread's bit AND has no flag yet for the tasks that were moved. */
void parked_promoted(struct reader_record *record, uint32_t moved)
{
    struct parked_slot *slot = parked_slot(record);
    reader_must_hold(reader_leaf_of(record));
    if (moved == 0)
        return;

    lock_acquire(&slot->lock);
    rtrcu_store_release(&slot->count, rtrcu_load_relaxed(&slot->count) - moved);
    lock_release(&slot->lock);
}

bool parked_begin(struct reader_leaf *leaf, unsigned int kind)
{
    struct parked_leaf *part = parked_leaf(leaf);
    reader_must_hold(leaf);
    invariant("INV-BL1", part->boundary[kind] == NULL);
    if (list_is_empty(&part->tasks))
        return false;

    set_boundary(part, kind, task_of(part->tasks.next));
    return true;
}

/* Remove @task from its list.  `where` changes first: a fork's child must not find a task that is on no list while its
 * `where` names a list. */
static void take_off(struct rcu_task *task)
{
    rtrcu_store_relaxed(&task->where, PARKED_NOWHERE);
    rtrcu_fence_light();
    list_remove(&task->link);
}

bool parked_remove_from_thread(struct rcu_task *task)
{
    struct reader_record *record = lock_slot_of(task);
    if (!record)
        return false;

    struct parked_slot *slot = parked_slot(record);
    take_off(task);
    rtrcu_store_relaxed(&task->record, NULL);
    rtrcu_store_relaxed(&slot->count, rtrcu_load_relaxed(&slot->count) - 1);
    lock_release(&slot->lock);
    return true;
}

static struct parked_slot *counted(struct reader_registry *registry)
{
    return &parked_leaf(reader_leaf_at(registry, 0))->counted;
}

void parked_add_counted(struct reader_registry *registry, struct rcu_task *task, enum reader_phase phase)
{
    struct parked_slot *all = counted(registry);
    lock_acquire(&all->lock);
    list_insert_last(&all->tasks, &task->link);
    rtrcu_store_relaxed(&task->where, phase == READER_PHASE_ODD ? PARKED_COUNTED_ODD : PARKED_COUNTED_EVEN);
    lock_release(&all->lock);
}

uint32_t parked_remove_counted(struct reader_registry *registry, struct rcu_task *task)
{
    struct parked_slot *all = counted(registry);
    lock_acquire(&all->lock);
    uint32_t where = rtrcu_load_relaxed(&task->where); /* a handler may have ended the task's section, or forked */
    if (parked_is_counted(where))
        take_off(task);
    lock_release(&all->lock);
    return where;
}

struct rcu_task *parked_first_waited_for(struct reader_leaf *leaf, unsigned int kind)
{
    reader_must_hold(leaf);
    return parked_leaf(leaf)->boundary[kind];
}

struct rcu_task *parked_next(struct reader_leaf *leaf, struct rcu_task *task)
{
    return task->link.next == &parked_leaf(leaf)->tasks ? NULL : task_of(task->link.next);
}

struct reader_kinds parked_remove_from_leaf(struct reader_leaf *leaf, struct rcu_task *task)
{
    struct parked_leaf *part = parked_leaf(leaf);
    struct reader_kinds last = {0};
    reader_must_hold(leaf);

    struct rcu_task *behind = parked_next(leaf, task);
    invariant("INV-BL2", !behind || behind->position >= task->position);

    for (unsigned int kind = 0; kind < READER_KINDS; kind++) {
        if (part->boundary[kind] != task)
            continue;
        set_boundary(part, kind, behind);
        if (!behind)
            reader_kinds_add(&last, kind);
    }

    take_off(task);
    rtrcu_store_relaxed(&task->leaf, NULL);
    rtrcu_store_relaxed(&part->count, rtrcu_load_relaxed(&part->count) - 1);

    if (rtrcu_load_relaxed(&part->count) == 0)
        reader_list_tasks(leaf, false);

    return last;
}

bool parked_is_waited_for(const struct rcu_task *task)
{
    const struct reader_leaf *leaf = rtrcu_load_relaxed(&task->leaf);
    uint32_t where = rtrcu_load_acquire(&task->where);
    if (where != PARKED_ON_LEAF || !leaf)
        return parked_is_counted(where); /* an estimate: a grace period waits for all readers of a phase */
    return waits_for(parked_leaf(leaf), 0, task) || waits_for(parked_leaf(leaf), 1, task);
}

static const struct inspect_field fields[] = {
    INSPECT_FIELD("parked.count", struct parked_leaf, count),
    INSPECT_FIELD("parked.tasks", struct parked_leaf, tasks),
    INSPECT_ARRAY("parked.boundary_position", struct parked_leaf, boundary_position),
    INSPECT_ARRAY("parked.slot", struct parked_leaf, slot),
    INSPECT_FIELD("parked_slot.count", struct parked_slot, count),
    INSPECT_FIELD("parked_slot.tasks", struct parked_slot, tasks),
    INSPECT_FIELD("link.next", struct rtrcu_link, next),
    INSPECT_FIELD("link.prev", struct rtrcu_link, prev),
    INSPECT_FIELD("task.link", struct rcu_task, link),
    INSPECT_FIELD("task.position", struct rcu_task, position),
};

const struct inspect_table parked_inspect_table = INSPECT_TABLE(fields);

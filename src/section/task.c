/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Parked tasks: sections that leave a thread when their task is suspended, and follow the task to another thread.
 *
 * Only the task's own part of the thread's nesting moves.  While a task with a listed section is mounted, the thread
 * refers to it: an unlock that brings the nesting back to the task's base ends that section.  For a task that was
 * mounted without a section, or has ended its own, the thread stores the base, since the nesting below may shrink.  The
 * thread does not dereference that task, whose memory may already have been freed.
 *
 *  task.where     meaning                                          own nesting while parked
 *  NOWHERE        no section of it is listed                       0
 *  ON_THREAD ...  on a list, see parked/parked.h                   > 0; 0 if listed for good by section_task_list()
 *  COUNTED_...    counted as a reader without a record: the thread on which it parked could have none
 * tested by: test/unit/section/task.cc, task_anonymous.cc
 */
#include "section/section.h"

/* Remove @task from the tasks that are mounted here with a listed section.  True if this call removed it.  A handler
 * may remove a task between any two instructions, so a task is removed by compare-and-swap, and the thread or handler
 * that removes it does the rest. */
static bool unmount(struct rcu_task *task)
{
    struct rcu_task **at = &rtrcu_self.task, *found;
    /* Ends after at most the tasks mounted here with listed sections.  Each pointer is loaded once. */
    while ((found = rtrcu_load_relaxed(at)) != NULL && found != task)
        at = &found->below;
    return found && rtrcu_compare_exchange(at, &found, task->below);
}

static void mount(struct rcu_task *task)
{
    task->below = rtrcu_self.task;
    rtrcu_store_relaxed(&rtrcu_self.task, task);
}

static bool is_mounted_here(struct gp *gp, const struct rcu_task *task)
{
    return rtrcu_load_relaxed(&task->mounted) == reader_mount_id(gp_registry(gp));
}

/* Record @task as mounted without a section, above the sections that the thread has open. */
static void put_above(struct rcu_task *task)
{
    task->below = rtrcu_self.bare; /* may have been freed: compared, never dereferenced */
    task->outer_base = rtrcu_self.bare_base;
    rtrcu_self.bare = task;
    rtrcu_self.bare_base = task->base;
}

/* Keep @task mounted after its section has ended, without a section.  A task that was mounted while that section was
 * open is still above @task, and stays recorded, since its base includes that section. */
static void keep_above(struct rcu_task *task)
{
    if (!rtrcu_self.bare || rtrcu_self.bare_base <= task->base)
        put_above(task);
}

/* Remove @task, which runs here, from the tasks without a section; returns its base. */
static uint32_t take_base(struct rcu_task *task)
{
    uint32_t base = task->base;
    if (rtrcu_self.bare != task)
        return base;

    base = rtrcu_self.bare_base;
    rtrcu_self.bare = task->below;
    rtrcu_self.bare_base = task->outer_base < base ? task->outer_base : base;
    return base;
}

/* Lock the leaf on whose list the task is; NULL: the task is on no list. */
static struct reader_leaf *lock_leaf_of(const struct rcu_task *task)
{
    struct reader_leaf *leaf = rtrcu_load_acquire(&task->leaf);
    if (!leaf)
        return NULL;

    reader_lock(leaf);
    if (rtrcu_load_relaxed(&task->where) == PARKED_ON_LEAF && rtrcu_load_relaxed(&task->leaf) == leaf)
        return leaf;
    reader_unlock(leaf);
    return NULL;
}

/* The task mounted last that has an open section: a section above the task's base, which the task brought along or
 * which began after the mount.  NULL: all open sections began on this thread. */
static struct rcu_task *innermost(void)
{
    struct rcu_task *task = rtrcu_load_relaxed(&rtrcu_self.task);
    while (task && section_nesting() <= task->base) /* ends after at most the tasks mounted here */
        task = task->below;
    return task;
}

/* Remove the task, which runs here; returns its own nesting, from its base to the base of the next task above.  The
 * bases above are lowered before the thread's word is: a handler that finds tasks with too much nesting ends no
 * section. */
static uint32_t take_out(struct rcu_task *task)
{
    (void)unmount(task);
    uint32_t base = take_base(task), top = section_nesting();
    for (struct rcu_task *above = rtrcu_self.task; above && above->base >= base; above = above->below)
        top = above->base < top ? above->base : top;

    uint32_t own_nesting = top > base ? top - base : 0;
    for (struct rcu_task *above = rtrcu_self.task; above && above->base >= base; above = above->below)
        above->base -= own_nesting;

    return own_nesting;
}

static void count(struct gp *gp, struct rcu_task *task, enum reader_phase phase)
{
    parked_add_counted(gp_registry(gp), task, phase);
    reader_anonymous_enter(gp_registry(gp), phase);
}

/* Remove a counted task from its phase.  False: it is not counted. */
static bool uncount(struct gp *gp, struct rcu_task *task, enum gp_actions *actions)
{
    if (!parked_is_counted(rtrcu_load_relaxed(&task->where)))
        return false;

    uint32_t where = parked_remove_counted(gp_registry(gp), task);
    if (parked_is_counted(where))
        *actions |= gp_report_anonymous(gp, parked_phase(where));
    return parked_is_counted(where);
}

/* Put @task after @older on the same list, so that a grace period that waits for @older's section also waits for
 * @task's.  Meanwhile @older stays on its list, or is promoted, since its section is open on this thread. */
static void follow(struct gp *gp, struct rcu_task *older, struct rcu_task *task)
{
    uint32_t where = rtrcu_load_relaxed(&older->where);

    if (parked_is_counted(where)) {
        count(gp, task, parked_phase(where));
    } else if (!parked_follow_on_thread(older, task)) {
        struct reader_leaf *leaf = lock_leaf_of(older);
        gp_follow(gp, leaf, older, task);
        reader_unlock(leaf);
    }
}

/* Put a task that is on no list on a list.  The task takes over the sections that @older brought along, or those that
 * began on this thread.
 * [O14] Parking half; the promotion half is parked_promote().  The task is on a list before the thread's word is 0.
 * Grace periods wait for a section that began without a record by the count alone, even if its thread has a record by
 * now. */
static void put_on_list(struct gp *gp, struct rcu_task *task, struct rcu_task *older, bool own_list)
{
    struct reader_record *record = section_record(gp);

    if (older) {
        follow(gp, older, task);
    } else if (!record || reader_self_is(READER_STATE_ANONYMOUS)) {
        /* Count the task in the thread's phase: a grace period may have seen the other phase empty already. */
        count(gp, task, reader_self_phase(gp_registry(gp)));
    } else if (own_list && !reader_kinds_any(gp_waits_for_thread(gp, record))) {
        parked_add_to_thread(record, task);
    } else {
        reader_lock(reader_leaf_of(record));
        gp_park(gp, record, task);
        reader_unlock(reader_leaf_of(record));
    }
}

/* Remove @own_nesting from the thread, with the effects of the corresponding unlocks: the task from which the nesting
 * was taken over may have no section left, and if no nesting is left, the thread is outside.  The call site of the
 * remaining section is no longer known. */
static enum gp_actions drop_nesting(struct gp *gp, uint32_t own_nesting)
{
    enum gp_actions actions = GP_ACTION_NONE;

    rtrcu_tsan_release(rtrcu_read_unlock_slow);
    reader_word_remove_nesting(own_nesting);
    if (rtrcu_self.entered_ns)
        rtrcu_store_relaxed(&rtrcu_self.entered_ns, 0);

    if (!reader_word_is_fast(reader_self_word()) || rtrcu_self.task) {
        reader_slow_begin();
        actions = section_task_done(gp);

        struct reader_word word = reader_self_word();
        if (!reader_word_is_fast(word) && reader_word_inside(word) == 0)
            actions |= section_leave_outermost(gp);
        reader_slow_end();
    }

    if (rtrcu_self.bare_base > section_nesting())
        rtrcu_self.bare_base = section_nesting(); /* some sections below that base have left the thread */

    return actions;
}

enum gp_actions section_task_park(struct gp *gp, struct rcu_task *task, bool own_list)
{
    uint32_t where = rtrcu_load_relaxed(&task->where);
    if (rtrcu_load_relaxed(&task->mounted) == 0 && where != PARKED_NOWHERE)
        return GP_ACTION_NONE; /* the task is parked already: the open sections are not its own */

    bool mounted = is_mounted_here(gp, task);
    struct rcu_task *older = mounted ? NULL : innermost();
    uint32_t own_nesting = mounted ? take_out(task) : section_nesting() - (older ? older->base : 0);

    task->nesting = own_nesting;
    rtrcu_store_relaxed(&task->mounted, 0);
    if (own_nesting == 0)
        return GP_ACTION_NONE;

    if (where == PARKED_NOWHERE) /* otherwise the task has been on its list since it first parked */
        put_on_list(gp, task, older, own_list);

    trace3(task_park, gp, task, task->name);
    return drop_nesting(gp, own_nesting);
}

void section_task_resume(struct gp *gp, struct rcu_task *task)
{
    if (is_mounted_here(gp, task))
        return; /* the task already runs here */

    /* The thread forgets the task, which has no section left, and the tasks without a section below it. */
    if (rtrcu_self.bare == task)
        rtrcu_self.bare = NULL;

    rtrcu_store_relaxed(&task->mounted, reader_mount_id(gp_registry(gp)));
    task->base = section_nesting();
    if (task->nesting == 0) {
        put_above(task);
        return;
    }

    trace3(task_resume, gp, task, task->name);
    (void)section_record(gp); /* arms the exit hook, which ends the task's section */

    reader_slow_begin();
    reader_idle_exit(); /* grace periods find the task on its list, but must scan the thread too, to boost it */

    /* The word changes before the mount: a handler's unlock must not find the task at its base. */
    reader_word_add_nesting(task->nesting);
    task->nesting = 0; /* the thread's word contains the nesting now */
    mount(task);

    reader_arm_self(); /* the unlock that ends the task's section takes the slow path */
    reader_slow_end();
}

enum gp_actions section_task_list(struct gp *gp, struct rcu_task *task, bool own_list)
{
    bool listed = rtrcu_load_relaxed(&task->where) != PARKED_NOWHERE;
    if (listed || section_nesting() == 0) {
        complain(reader_misuse(gp_registry(gp), READER_MISUSE_TASK_LIST),
                 "rtrcu: thread %u: rcu_task_list() %s; ignored", lock_thread_number(),
                 listed ? "of a task that is listed" : "outside a read-side critical section");
        return GP_ACTION_NONE;
    }

    put_on_list(gp, task, innermost(), own_list);
    return drop_nesting(gp, 1);
}

/* Remove the task from the list that it is on.  If a promotion moves the task meanwhile, its record or its leaf leads
 * to a lock that the promoter holds.  If a handler has removed the task, do nothing. */
static enum gp_actions take_off(struct gp *gp, struct rcu_task *task)
{
    enum gp_actions actions = GP_ACTION_NONE;
    if (uncount(gp, task, &actions) || parked_remove_from_thread(task))
        return actions;

    struct reader_leaf *leaf = lock_leaf_of(task);
    if (!leaf)
        return GP_ACTION_NONE;

    actions = gp_unpark(gp, leaf, task);
    reader_unlock(leaf);
    return actions;
}

enum gp_actions section_task_unlist(struct gp *gp, struct rcu_task *task)
{
    rtrcu_tsan_release(rtrcu_read_unlock_slow);
    return take_off(gp, task);
}

enum gp_actions section_task_done(struct gp *gp)
{
    enum gp_actions actions = GP_ACTION_NONE;
    for (;;) { /* ends after at most the tasks that end here */
        struct rcu_task *task = rtrcu_load_relaxed(&rtrcu_self.task);
        if (!task || section_nesting() > task->base || lock_any_held(SECTION_LOCKS))
            return actions;

        invariant("INV-SE2", is_mounted_here(gp, task));
        rtrcu_tsan_release(rtrcu_read_unlock_slow);

        if (!unmount(task))
            continue;

        keep_above(task);
        actions |= take_off(gp, task);
    }
}

enum gp_actions section_task_abandon(struct gp *gp)
{
    enum gp_actions actions = GP_ACTION_NONE;
    struct rcu_task *task;

    while ((task = rtrcu_load_relaxed(&rtrcu_self.task)) != NULL) { /* ends after at most the tasks mounted here */
        complain(reader_misuse(gp_registry(gp), READER_MISUSE_TASK_EXIT),
                 "rtrcu: thread %u exits while task \"%s\" runs on it inside a read-side critical section; the library"
                 " ends it",
                 lock_thread_number(), task->name ? task->name : "");
        if (unmount(task))
            actions |= take_off(gp, task);
    }

    return actions;
}

enum gp_actions section_task_exit(struct gp *gp, struct rcu_task *task)
{
    bool mounted = is_mounted_here(gp, task);
    uint32_t own_nesting = mounted ? take_out(task) : task->nesting;
    bool listed = rtrcu_load_relaxed(&task->where) != PARKED_NOWHERE;

    if (own_nesting != 0 || listed)
        complain(reader_misuse(gp_registry(gp), READER_MISUSE_TASK_EXIT),
                 "rtrcu: task \"%s\" exits inside a read-side critical section (nesting %u); the library ends it",
                 task->name ? task->name : "", own_nesting ? own_nesting : 1);

    enum gp_actions actions = take_off(gp, task);
    if (mounted && own_nesting != 0)
        actions |= drop_nesting(gp, own_nesting);

    task->nesting = 0;
    rtrcu_store_relaxed(&task->mounted, 0);
    return actions;
}

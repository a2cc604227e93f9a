/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Parked tasks: a section that leaves its thread when its task is suspended, and follows it to another.
 *
 * tested by: test/api/task.cc
 */
#include "section/section.h"

/* A task of a thread without a record stays counted with those that have none. */
enum { TASK_ANONYMOUS = 1 };

/* [O14] Parking half: the task is on a list before the thread's word becomes 0; see blocked_promote(). */
unsigned int section_task_park(struct gp *gp, struct rcu_task *task, bool own_list)
{
    uint32_t nesting = section_nesting();
    struct reader_record *record = section_record(gp);
    rtrcu_self.task = NULL;
    task->nesting = nesting;
    rtrcu_store_relaxed(&task->thread_id, 0);
    if (nesting == 0)
        return GP_ACTION_NONE;
    if (rtrcu_self.state & READER_STATE_ANONYMOUS) {
        task->reserved = TASK_ANONYMOUS;
        rtrcu_self.state &= ~(uint32_t)READER_STATE_ANONYMOUS;
    } else if (rtrcu_load_relaxed(&task->where) == BLOCKED_NOWHERE) {
        if (own_list && !gp_waits_for_thread(gp, record)) {
            blocked_add_to_thread(record, task);
        } else {
            lock_acquire(&record->leaf->lock);
            gp_block(gp, record, task);
            lock_release(&record->leaf->lock);
        }
    }
    rtrcu_tsan_release(rtrcu_read_unlock_slow);
    rtrcu_word_add(&rtrcu_self, (uint32_t)-nesting);
    uint32_t word = rtrcu_word_read();
    if (word >> 24 == RTRCU_FLAG_FAST || (word & RTRCU_INSIDE_MASK) || !record)
        return GP_ACTION_NONE;
    return section_report(gp);
}

void section_task_resume(struct gp *gp, struct rcu_task *task)
{
    (void)gp;
    if (section_nesting() != 0 && task->nesting != 0)
        plat_print("rtrcu: thread %u: rcu_task_resume() inside a read-side critical section; the sections are merged\n",
                   lock_thread_id());
    rtrcu_store_relaxed(&task->thread_id, lock_thread_id());
    if (task->nesting == 0)
        return;
    rtrcu_word_add(&rtrcu_self, task->nesting);
    if (task->reserved == TASK_ANONYMOUS) {
        task->reserved = 0;
        rtrcu_self.state |= READER_STATE_ANONYMOUS;
    }
    if (rtrcu_load_relaxed(&task->where) != BLOCKED_NOWHERE)
        rtrcu_self.task = task;
    reader_arm_self(); /* the outermost unlock takes the slow path, which takes the task off its list */
}

/* Off whichever list: promotion may move it while we look.  Then its record or its leaf leads to a lock that the
 * promoter holds. */
static unsigned int take_off(struct gp *gp, struct rcu_task *task)
{
    while (rtrcu_load_acquire(&task->where) != BLOCKED_NOWHERE) { /* at most one promotion comes between */
        if (blocked_remove_from_thread(task))
            return GP_ACTION_NONE;
        struct reader_leaf *leaf = rtrcu_load_acquire(&task->leaf);
        if (!leaf)
            continue; /* it was promoted and is on its leaf by now */
        lock_acquire(&leaf->lock);
        bool here = rtrcu_load_relaxed(&task->where) == BLOCKED_ON_LEAF && rtrcu_load_relaxed(&task->leaf) == leaf;
        unsigned int actions = here ? gp_unblock(gp, leaf, task) : GP_ACTION_NONE;
        lock_release(&leaf->lock);
        if (here)
            return actions;
    }
    return GP_ACTION_NONE;
}

unsigned int section_task_done(struct gp *gp)
{
    struct rcu_task *task = rtrcu_self.task;
    if (!task || (rtrcu_self.locks_held & SECTION_LOCKS))
        return GP_ACTION_NONE;
    rtrcu_tsan_release(rtrcu_read_unlock_slow);
    unsigned int actions = take_off(gp, task);
    rtrcu_self.task = NULL;
    return actions;
}

unsigned int section_task_exit(struct gp *gp, struct rcu_task *task)
{
    bool mounted = rtrcu_load_relaxed(&task->thread_id) == lock_thread_id();
    uint32_t nesting = mounted ? section_nesting() : task->nesting;
    unsigned int actions = GP_ACTION_NONE;
    if (nesting != 0)
        plat_print("rtrcu: task \"%s\" exits inside a read-side critical section (nesting %u); closed\n",
                   task->name ? task->name : "", nesting);
    if (mounted && nesting != 0) {
        rtrcu_word_add(&rtrcu_self, (uint32_t)-nesting + 1);
        reader_arm_self();
        rcu_read_unlock(); /* the ordinary way out, with all that is asked of it */
    } else if (nesting != 0 && task->reserved == TASK_ANONYMOUS) {
        actions = gp_report_anonymous(gp);
    } else {
        actions = take_off(gp, task);
    }
    task->nesting = 0;
    task->reserved = 0;
    rtrcu_store_relaxed(&task->thread_id, 0);
    return actions;
}

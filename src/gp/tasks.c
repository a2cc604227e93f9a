/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Grace periods and parked tasks: which tasks a leaf's word stands for, and until when.
 *
 * The flag in a leaf's word means that the boundary of that kind is set.  The flag is set either while the leaf has a
 * holdout (the thread whose tasks are put after the boundary), or by the scan that publishes the word.  So the grace
 * period cannot end before the flag is set.
 * tested by: test/unit/parked/gp_tasks.cc
 */
#include "gp/gp.h"

struct reader_kinds gp_waits_for_thread(const struct gp *gp, const struct reader_record *record)
{
    struct reader_kinds waits = {0};
    for (enum gp_kind kind = GP_NORMAL; kind < GP_KINDS; kind++) {
        if (gp_holdouts(gp, kind, reader_leaf_of(record)) & reader_bit(record))
            reader_kinds_add(&waits, kind);
    }
    return waits;
}

static void set_flags(struct gp *gp, struct reader_leaf *leaf, struct reader_kinds kinds)
{
    for (enum gp_kind kind = GP_NORMAL; kind < GP_KINDS; kind++) {
        if (reader_kinds_has(kinds, kind))
            gp_node_park(gp_leaf_node(gp, leaf), kind);
    }
}

/* Count the arrival of tasks on the leaf's list for which the grace periods of @kinds wait. */
static void count_arrival(struct gp *gp, struct reader_kinds kinds)
{
    for (enum gp_kind kind = GP_NORMAL; kind < GP_KINDS; kind++) {
        if (reader_kinds_has(kinds, kind))
            rtrcu_fetch_add(&gp->machine[kind].tasks_came, 1);
    }
}

void gp_park(struct gp *gp, struct reader_record *record, struct rcu_task *task)
{
    struct reader_kinds waits = gp_waits_for_thread(gp, record);
    set_flags(gp, reader_leaf_of(record), parked_add_to_leaf(reader_leaf_of(record), task, waits));
    count_arrival(gp, waits);
}

/* Lists @task after @older and counts it.  Sets no flag of the leaf's word: if a grace period waits for @older, the
 * flags are set already. */
void gp_follow(struct gp *gp, struct reader_leaf *leaf, struct rcu_task *older, struct rcu_task *task)
{
    count_arrival(gp, parked_follow_on_leaf(leaf, older, task));
}

bool gp_promote_parked(struct gp *gp, struct reader_record *record)
{
    uint32_t moved;
    parked_lock_list(record);
    /* The thread's bit is read while its list is locked.  Before that, the thread may clear the bit while its list is
     * empty, and then park a task there that no grace period waits for.  While the list is not empty, the thread leaves
     * its bit set. */
    struct reader_kinds waits = gp_waits_for_thread(gp, record);
    struct reader_kinds fresh = parked_promote(record, waits, &moved);
    parked_unlock_list(record);

    set_flags(gp, reader_leaf_of(record), fresh);
    if (moved)
        count_arrival(gp, waits);
    parked_promoted(record, moved);

    return parked_on_thread(record) == 0;
}

enum gp_actions gp_unpark(struct gp *gp, struct reader_leaf *leaf, struct rcu_task *task)
{
    enum gp_actions actions = GP_ACTION_NONE;
    struct gp_node *node = gp_leaf_node(gp, leaf);
    struct reader_kinds last = parked_remove_from_leaf(leaf, task);

    for (enum gp_kind kind = GP_NORMAL; kind < GP_KINDS; kind++) {
        struct gp_stamp stamp = gp_word_stamp(gp_node_word(node, kind));
        if (reader_kinds_has(last, kind) && gp_node_unpark(node, kind, stamp)) /* [O4] */
            actions |= gp_carry(gp, kind, 0, reader_leaf_index(leaf), stamp);
    }

    return actions;
}

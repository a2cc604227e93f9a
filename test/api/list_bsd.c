/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A C program that uses both sys/queue.h, which has another LIST_HEAD, and <rtrcu/list.h>; part of the test in list.cc.
 */
#include <sys/queue.h>

#include <rtrcu/list.h>

struct both {
    LIST_ENTRY(both) bsd;
    struct list_head ours;
};
LIST_HEAD(bsd_head, both);
static LIST_HEAD(our_head);

int list_bsd_together(void);

/* Returns 0 if each list holds the object that was inserted into it. */
int list_bsd_together(void)
{
    struct bsd_head bsd_list = LIST_HEAD_INITIALIZER(bsd_list);
    struct both object = {{0}, LIST_HEAD_INIT(object.ours)}, *found = NULL;
    LIST_INSERT_HEAD(&bsd_list, &object, bsd);
    list_add_rcu(&object.ours, &our_head);
    if (LIST_FIRST(&bsd_list) != &object)
        return 1;
    rcu_read_lock();
    list_for_each_entry_rcu(found, &our_head, ours) break;
    rcu_read_unlock();
    if (found != &object)
        return 2;
    LIST_REMOVE(&object, bsd);
    list_del_rcu(&object.ours);
    return list_empty(&our_head) ? 0 : 3;
}

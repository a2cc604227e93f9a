// SPDX-License-Identifier: MIT OR Apache-2.0
// A C++ program that uses the macros of the headers and is compiled with warnings about C casts.
#include <rtrcu/list.h>
#include <rtrcu/rcu.h>
#include <rtrcu/urcu.h>

struct object {
    int value;
    struct rcu_head head;
    struct list_head node;
    struct hlist_node bucket;
};

static struct object *shared;
RTRCU_LIST_HEAD(objects);
static struct hlist_head table;

int use_macros(struct object *fresh);
int use_macros(struct object *fresh)
{
    rcu_read_lock();
    int value = rcu_dereference(shared)->value;
    rcu_read_unlock();
    struct object *old = rcu_xchg_pointer(&shared, fresh);
    rcu_free_head(old, head);
    return value;
}

int use_traversals(void);
int use_traversals(void)
{
    int sum = 0;
    struct object *object, *next;
    struct hlist_node *after;
    rcu_read_lock();
    list_for_each_entry_rcu(object, &objects, node) sum += object->value;
    hlist_for_each_entry_rcu(object, &table, bucket) sum += object->value;
    rcu_read_unlock();
    list_for_each_entry_reverse(object, &objects, node) sum += object->value;
    list_for_each_entry_safe(object, next, &objects, node) list_del_rcu(&object->node);
    hlist_for_each_entry_safe(object, after, &table, bucket) hlist_del_rcu(&object->bucket);
    return sum;
}

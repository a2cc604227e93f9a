// SPDX-License-Identifier: MIT OR Apache-2.0
// The macros of <rtrcu/rcu.h> in a C++ program that is warned of C casts: it compiles.
#include <rtrcu/rcu.h>

struct object {
    int value;
    struct rcu_head head;
};

static struct object *shared;

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

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A plugin that uses the library.  The same source is linked with the static library, with a renamed copy of the static
 * library, and with the shared library. */
#include <rtrcu/rcu.h>

#include <stdlib.h>

int plugin_work(void);

int plugin_work(void)
{
    rcu_read_lock();
    int inside = rcu_read_lock_held();
    rcu_read_unlock();
    synchronize_rcu();
    struct rcu_head *head = malloc(sizeof(*head));
    call_rcu(head, (rcu_callback_t)free); /* creates threads of the library */
    rcu_barrier();
    return inside ? 0 : 1;
}

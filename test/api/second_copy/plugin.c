/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A plugin that uses the library: one source, linked statically, statically again under another name, and shared.
 */
#include <rtrcu/rcu.h>

int plugin_work(void);

int plugin_work(void)
{
    rcu_read_lock();
    int inside = rcu_read_lock_held();
    rcu_read_unlock();
    synchronize_rcu();
    return inside ? 0 : 1;
}

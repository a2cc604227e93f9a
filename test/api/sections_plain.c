/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sections of code that is built without RTRCU_DEBUG, in every variant; part of the test in sections.cc.
 */
#undef RTRCU_DEBUG
#include <rtrcu/rcu.h>

void sections_plain_lock(void);
void sections_plain_unlock(void);

void sections_plain_lock(void)
{
    rcu_read_lock();
}

void sections_plain_unlock(void)
{
    rcu_read_unlock();
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A plugin whose constructor waits for a grace period, while the loader's lock is held. */
#include <rtrcu/rcu.h>

void stall_in_constructor(void);

__attribute__((constructor)) static void wait_in_constructor(void)
{
    stall_in_constructor();
    synchronize_rcu();
}

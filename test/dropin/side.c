/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The read side as a program has it: inlined where _LGPL_SOURCE is defined, else by calls.
 */
#include HEADER

#include "dropin.h"

static void enter(void)
{
    rcu_read_lock();
}

static void leave(void)
{
    rcu_read_unlock();
}

static void *load(void **place)
{
    return rcu_dereference(*place);
}

static void quiescent(void)
{
#if QUIESCES
    rcu_quiescent_state();
#endif
}

const struct side SIDE = {enter, leave, load, quiescent};

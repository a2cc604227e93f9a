/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The read side as a program compiles it: with liburcu's headers, inlined if _LGPL_SOURCE is defined and else by calls;
 * with this library's replacement headers, inlined. */
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
#ifdef __SANITIZE_THREAD__
    return rtrcu_load_consume(place); /* liburcu's own load is volatile, which the race detector reports as a race */
#else
    return rcu_dereference(*place);
#endif
}

static void quiescent(void)
{
#if QUIESCES
    rcu_quiescent_state();
#endif
}

const struct side SIDE = {enter, leave, load, quiescent};

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The read side as a program has it: with liburcu's headers inlined where _LGPL_SOURCE is defined, else by calls; with
 * this library's own ones inlined.
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
#ifdef __SANITIZE_THREAD__
    return rtrcu_load_consume(
        place); /* liburcu's own load is a volatile one, which the race detector takes for a race */
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

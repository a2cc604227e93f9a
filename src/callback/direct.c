/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Direct invocation, for call_rcu_rt(): a callback is invoked immediately if no other reader can exist (2004).
 *
 * tested by: test/unit/callback/direct.cc
 */
#include <stdlib.h>

#include "callback/callback.h"

#define DEPTH_MAX 8

/* Must the call be queued because of the calling thread's own sections?  A handler cannot see the sections of an online
 * quiescent-state thread, unless the thread uses rcu_read_lock_bh(). */
static bool own_sections_exclude(bool in_handler)
{
    if (section_nesting() != 0 || rtrcu_self.bh != 0)
        return true;

    bool invisible = reader_word_is_online(reader_self_word());
    return in_handler && invisible && !reader_self_is(READER_STATE_BH);
}

/* [O12] Updater half; the reader's half is reader_publish().
 *  - Our fence first:  a thread that registers later fences before it reads, and finds the object unlinked;
 *  - The other thread's counting first:  we see a second thread, and queue the callback.
 * Forbidden: we see no other thread AND a section of another thread finds the object. */
static bool no_other_reader(struct reader_registry *registry)
{
    rtrcu_fence_full();
    uint32_t own = reader_self() ? 1 : 0;
    return reader_threads(registry) == own && reader_anonymous(registry) == 0 && !parked_any(registry);
}

static void end_direct(uint32_t *depth)
{
    rtrcu_self.direct_depth = *depth;
}

bool callback_direct(struct callback *cb, struct rcu_head *head, rcu_callback_t func, bool in_handler)
{
    bool refused = rtrcu_self.direct_depth >= DEPTH_MAX || own_sections_exclude(in_handler);
    if (refused || !no_other_reader(cb->registry)) {
        counter_add(&cb->direct_refused, 1);
        return false;
    }

    counter_add(&cb->direct, 1);
    /* The depth is restored even if the callback throws. */
    uint32_t depth __attribute__((cleanup(end_direct))) = rtrcu_self.direct_depth++;
    callback_call(head, func);
    return true;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Detection of torn children: processes that a signal handler forked inside a call of the library.
 *
 * A handler may interrupt a call of the library and fork.  The parent continues.  The child is torn: its only thread is
 * inside a call that needs locks, waiters or a grace period of threads that the child does not have.  It may only
 * exec() or _exit(); the library ends it with a message when the interrupted call ends or waits, or when another call
 * begins.
 *
 * rtrcu_self.calls is the depth of such calls in this thread: 1 in a public call or on a thread of the library, more in
 * a handler that interrupted a call and makes another call.  Program code that a call runs (callbacks, hooks, the
 * program's handlers) runs at a depth lower by one: it may fork, and its child continues.
 *  - the fork precedes the increment of the depth:  the child is whole, and continues with the call;
 *  - the fork occurs while the depth is not 0:      the child is torn, and call_end() or call_check() ends it;
 *  - the fork follows the decrement to 0:           the child is whole.
 * Forbidden: a child is torn AND continues the call.
 *
 * Readers' inline fast paths and call_rcu() of a registered thread do not change the depth: the repair of a fork's
 * child writes no word that they write.
 */
#ifndef RTRCU_BASE_CALL_H
#define RTRCU_BASE_CALL_H

#include "base/check.h"

/* Print a message and abort.  Called in a torn child: one that a signal handler forked inside a call of the library. */
void call_die(void) __attribute__((noreturn, cold));

/* Ends the process if it is a torn child.  Called where a call begins, ends, waits or releases a lock. */
static inline void call_check(void)
{
    if (__builtin_expect(rtrcu_load_relaxed(&rtrcu_self.torn), 0))
        call_die();
}

/* In a signal handler: has the handler interrupted a call of the library? */
static inline bool call_is_open(void)
{
    return rtrcu_load_relaxed(&rtrcu_self.calls) != 0;
}

/* Are two calls of the library in progress on this thread?  A signal handler has interrupted one and made the other. */
static inline bool call_is_nested(void)
{
    return rtrcu_load_relaxed(&rtrcu_self.calls) > 1;
}

static inline void call_begin(void)
{
    rtrcu_store_relaxed(&rtrcu_self.calls, rtrcu_load_relaxed(&rtrcu_self.calls) + 1);
    rtrcu_fence_light();
    call_check();
}

/* Set the depth, then check: a child forked after the store is whole, and the check ends a child forked before the
 * store. */
static inline void call_return_to(uint32_t depth)
{
    rtrcu_fence_light();
    rtrcu_store_relaxed(&rtrcu_self.calls, depth);
    rtrcu_fence_light();
    call_check();
}

static inline void call_end(void)
{
    call_return_to(rtrcu_load_relaxed(&rtrcu_self.calls) - 1);
}

/* Restores the depth at the end of a block with CALL_SCOPE or CALL_PROGRAM, also if a callback of the program
 * throws. */
static inline void call_scope_end(const uint32_t *before)
{
    call_return_to(*before);
}

/* From here to the end of the block the thread is inside a call. */
#define CALL_SCOPE()                                                                                                   \
    const uint32_t call_before __attribute__((cleanup(call_scope_end))) = rtrcu_load_relaxed(&rtrcu_self.calls);       \
    call_begin()

/* From here to the end of the block program code runs. */
#define CALL_PROGRAM()                                                                                                 \
    const uint32_t call_before __attribute__((cleanup(call_scope_end))) = rtrcu_load_relaxed(&rtrcu_self.calls);       \
    call_return_to(call_before ? call_before - 1 : 0)

/* Called in a fork's child.  True: the child is torn, and the caller must repair nothing. */
static inline bool call_after_fork_child(void)
{
    if (call_is_open())
        rtrcu_store_relaxed(&rtrcu_self.torn, 1);
    return rtrcu_load_relaxed(&rtrcu_self.torn);
}

#endif

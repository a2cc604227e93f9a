/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls in progress that a fork in a signal handler would tear.
 *
 * A handler may interrupt a call of the library and fork.  The parent continues.  The child's only thread is inside the
 * call, whose other half (locks, waiters, a grace period) belongs to threads that the child does not have: the child
 * may only exec() or _exit().  It is ended with a message when the interrupted call ends, when it waits, or when
 * another such call begins.
 *
 * rtrcu_self.calls is the depth of such calls in this thread: 1 in a public call or on a thread of the library, more in
 * a handler that interrupted one and makes another.  Program code that a call runs (callbacks, hooks, the program's
 * handlers) runs one lower: it may fork, and its child continues.
 *  - the fork comes before the depth rises:  the child is whole, and continues with the call;
 *  - it comes while the depth is not 0:      the child is torn, and call_end() or call_check() ends it;
 *  - it comes after the depth fell to 0:     the child is whole.
 * Forbidden: a call tears AND its child continues.
 *
 * Readers' inline fast paths and call_rcu() of a registered thread need no mark: a child's repair writes no word that
 * they write.
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

/* Is this call inside another of the same thread, in a handler that interrupted the library? */
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

/* Store first, then check: a fork after the store leaves a whole child, and the check notices a fork before it. */
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

/* The end of CALL_SCOPE and CALL_PROGRAM, even if a callback of the program throws. */
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

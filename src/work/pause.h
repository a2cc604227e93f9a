/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The pause of callback invokers during a fork: no invoker begins a batch while a thread forks, so that no callback of
 * the parent is running in the child.  A stream of forks does not keep callbacks from running.
 */
#ifndef RTRCU_WORK_PAUSE_H
#define RTRCU_WORK_PAUSE_H

#include "config/config.h"

struct work;

struct work_pause {
    struct tally forking; /* threads between prepare and parent handler */
    uint32_t event;       /* atomic: futex: counts invokers that have stopped for a fork, and ends of forks */
};

static inline void work_pause_begin(struct work_pause *pause)
{
    tally_raise(&pause->forking);
}
/* Nonzero while a thread forks. */
static inline const struct tally *work_pause_forking(const struct work_pause *pause)
{
    return &pause->forking;
}
static inline uint32_t work_pause_event(const struct work_pause *pause)
{
    return rtrcu_load_acquire(&pause->event);
}
/* In a fork's child: reset the count, since no thread of the child forks. */
static inline void work_pause_reset(struct work_pause *pause)
{
    tally_reset(&pause->forking);
}

/* May an invoker begin a batch?  Not while a thread forks, unless forks have held it off since *@held_off_ns for longer
 * than fork_wait_us: then *@anyway is set.  *@held_off_ns belongs to the invoker, which clears it when it begins. */
bool work_pause_allows(const struct work_pause *pause, const struct config *config, int64_t *held_off_ns, bool *anyway);
/* Called by an invoker that has ended a batch, or has not begun a batch: make the forking thread check again. */
void work_pause_tell(struct work_pause *pause);
/* Called by an invoker that is not allowed: sleep until @event changes, at most @timeout_ns. */
void work_pause_rest(struct work *work, struct work_pause *pause, uint32_t event, int64_t timeout_ns);
/* Called by a forking thread after work_pause_begin(): wait while @serves reports that an invoker is inside a batch.
 * False: at @until, an invoker still is, or may be, inside a batch. */
bool work_pause_wait(struct work *work, struct work_pause *pause, int64_t until, bool (*serves)(void *who), void *who);
/* Let invokers continue; wake those that sleep on the event. */
void work_pause_end(struct work_pause *pause);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The calling thread: its record, the bits of its state, its slow paths. */
#ifndef RTRCU_READER_SELF_H
#define RTRCU_READER_SELF_H

#include "reader/call.h"
#include "reader/registry.h"

/* Owner-private bits of rtrcu_thread.state. */
enum {
    READER_STATE_DEADLINE = 1 << 0,    /* a deadline thread: wakes no thread while online */
    READER_STATE_QSBR = 1 << 1,        /* quiescent-state discipline */
    READER_STATE_CALLBACK = 1 << 2,    /* inside a callback batch */
    READER_STATE_ANONYMOUS = 1 << 3,   /* counted in registry.anonymous: it cannot have a record */
    READER_STATE_EXITED = 1 << 4,      /* the exit hook has run: the thread gets no record any more */
    READER_STATE_BH = 1 << 5,          /* has used rcu_read_lock_bh() */
    READER_STATE_ASLEEP = 1 << 6,      /* asleep in a call of the library, between reader_sleep_begin() and _end() */
    READER_STATE_ODD = 1 << 7,         /* with READER_STATE_ANONYMOUS: in phase READER_PHASE_ODD */
    READER_STATE_HASH_PAUSED = 1 << 8, /* its fork in progress has paused liburcu's hash-table worker */
    READER_STATE_EXPLICIT = 1 << 9,    /* registered explicitly: its signal handlers may queue callbacks */
    READER_STATE_OURS = 1 << 10,       /* a thread of the library, whose signals are blocked; not in a fork's child */
};

/* The calling thread's record, NULL = it has none. */
static inline struct reader_record *reader_self(void)
{
    return rtrcu_self.record;
}

/* Does the calling thread have one of these READER_STATE_ bits? */
static inline bool reader_self_is(uint32_t states)
{
    return rtrcu_self.state & states;
}

static inline void reader_self_set(uint32_t states)
{
    rtrcu_self.state |= states;
}

static inline void reader_self_clear(uint32_t states)
{
    rtrcu_self.state &= ~states;
}

/* Add to the statistics a slow path of the calling thread that reader_count_slow() does not count. */
static inline void reader_self_count_slow(void)
{
    rtrcu_self.slow_paths++;
}

/* The calling thread's id as tasks store it: not the kernel's id, which changes in a fork's child. */
static inline uint32_t reader_mount_id(struct reader_registry *registry)
{
    if (rtrcu_self.mount_id == 0)
        rtrcu_self.mount_id = rtrcu_fetch_add(&registry->mount_ids, 1) + 1;
    return rtrcu_self.mount_id;
}

/* Set how the calling thread takes part in grace periods: RTRCU_QSBR, RTRCU_DEADLINE. */
void reader_self_register_as(struct reader_registry *registry, unsigned int flags);
/* Arm the calling thread's exit hook: see plat_thread_exit_arm() and plat_thread_exit_reserve(). */
int reader_exit_arm(const struct reader_registry *registry);
int reader_exit_reserve(const struct reader_registry *registry);

/* Is the calling thread in a counted slow path? */
static inline bool reader_self_is_slow(void)
{
    return rtrcu_self.slow != 0;
}

/* Begin a counted slow path.  The update is not atomic: a handler that interrupts it restores the count before it
 * returns. */
static inline void reader_slow_begin(void)
{
    rtrcu_store_relaxed(&rtrcu_self.slow, rtrcu_self.slow + 1);
    rtrcu_fence_light();
}

static inline void reader_slow_end(void)
{
    rtrcu_fence_light();
    rtrcu_store_release(&rtrcu_self.slow, rtrcu_self.slow - 1);
}

#endif

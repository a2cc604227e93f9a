/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Readers that are asked to take their slow path: to report, to sleep, to end a boost, to fence. */
#ifndef RTRCU_READER_ASK_H
#define RTRCU_READER_ASK_H

#include "reader/registry.h"
#include "reader/word.h"

/* ---- the flag: word.c ---- */

/* What the owner's word says: nesting and discipline, 0 = outside.  Under the leaf lock, registered. */
uint32_t reader_inside(const struct reader_record *record);
/* Ask the owner to take its slow path.  True if the flag was not set yet.  Under the leaf lock, registered. */
bool reader_arm(struct reader_record *record);
/* The owner takes the flag back, before it reads what is asked of it; a full fence.  Inside a slow path that is counted
 * (INV-RD2).  In full-fence mode, and while the thread is away, the flag stays. */
void reader_disarm(struct reader_registry *registry);
/* The owner asks itself to come back.  A thread without a record comes in any case. */
void reader_arm_self(void);

/* ---- idle threads: idle.c ---- */

/* The calling thread is awake from now on: it is about to be inside, or to go back to fast.  In a slow path that is
 * counted. */
void reader_idle_exit(void);
/* Slots of threads that never sleep, as bits. */
static inline uint32_t reader_never_idle(const struct reader_leaf *leaf)
{
    return rtrcu_load_acquire(&leaf->deadline[0]) | rtrcu_load_acquire(&leaf->deadline[1]); /* [O26] */
}
/* A scan has found the owner inside, or outside.  True if it was outside @scans times in a row.  Under leaf lock. */
bool reader_count_scan(struct reader_record *record, bool inside, uint32_t scans);
/* Before a heavy fence: threads that have been found outside @scans times in a row are to leave, and are asked.  True
 * if there are any.  Under the leaf lock. */
bool reader_idle_propose(struct reader_leaf *leaf, uint32_t scans);
/* Threads that are to leave. */
static inline uint32_t reader_idle_candidates(const struct reader_leaf *leaf)
{
    return reader_scanned_candidates(&leaf->scanned);
}
/* Behind that fence: is the owner outside, and will its next section or quiescent state begin with waking?  Under the
 * leaf lock. */
bool reader_idle_confirmed(const struct reader_record *record);
/* Of the threads that were to leave, @asleep sleep from now on, unless they have woken.  Under the leaf lock. */
static inline void reader_idle_settle(struct reader_leaf *leaf, uint32_t asleep)
{
    reader_scanned_settle(&leaf->scanned, asleep);
}

/* ---- boosting: boost.c ----
 *
 *  record.boost       by             when
 *  0 -> owner's id   reader_boost()  before the flag; by compare-and-swap, since the kernel adds a waiters bit
 *  id -> 0           the owner      its slow path, after its report; with the waiters bit set by FUTEX_UNLOCK_PI
 *  id -> 0           the booster     it finds the owner outside, or gives up
 */

/* Put the owner's id into the word and ask for the slow path.  False: the word is in use.  Under the leaf lock.
 * @armed: what reader_boost_confirmed() compares. */
bool reader_boost(struct reader_record *record, uint32_t *armed);
/* Is the flag still there, so that the owner's unlock will release the word?  Asks again if not.  A flag that another
 * thread has set since the last look counts as lost: no fence stands behind it yet.  Under the leaf lock, behind a
 * heavy fence since the last look. */
bool reader_boost_confirmed(struct reader_record *record, uint32_t *armed);
/* The booster takes the word back, if the owner has not released it. */
void reader_boost_withdraw(struct reader_record *record, struct plat_tid owner);
/* Is the owner boosted now?  A hint. */
static inline bool reader_is_boosted(const struct reader_record *record)
{
    return rtrcu_load_relaxed(&record->boost) != 0;
}
/* The word that the booster locks, and the owner unlocks. */
static inline uint32_t *reader_boost_word(struct reader_record *record)
{
    return &record->boost;
}
/* That of the calling thread, if it has one. */
static inline uint32_t *reader_self_boost_word(void)
{
    return rtrcu_self.boost;
}
/* The owner ends its boost.  True: the word needs FUTEX_UNLOCK_PI. */
bool reader_boost_release(void);

/* ---- full-fence mode: fence_mode.c ---- */

/* What fence_ack says of a thread that is away: it fences in any mode before it reads. */
#define READER_FENCES_ANY UINT32_MAX

static inline bool reader_fences_are_full(const struct reader_registry *registry)
{
    return rtrcu_load_relaxed(&registry->fence_mode) & 1;
}

/* Odd: readers must use full fences; rises with each change. */
static inline uint32_t reader_fences_mode(const struct reader_registry *registry)
{
    return rtrcu_load_acquire(&registry->fence_mode);
}

/* Does every reader fence in @mode, so that a grace period needs no heavy fence? */
static inline bool reader_fences_are_confirmed(const struct reader_registry *registry, uint32_t mode)
{
    return (mode & 1) && rtrcu_load_acquire(&registry->fence_confirmed) == mode;
}

/* Full fences from the start: no reader exists yet. */
void reader_fences_start_full(struct reader_registry *registry);
/* Begin the switch to full fences; nothing if they are in force. */
void reader_fences_switch(struct reader_registry *registry);
/* Before a visit to every CPU: arm every reader, and remember in its record how often that has been done.  False:
 * another thread is between the two calls. */
bool reader_fences_visit_begin(struct reader_registry *registry);
/* Does every reader fence in @mode from now on?  @visited: by what the records remember, behind a visit to every CPU
 * since; else only by what the owners have acknowledged.  Arms again those that lost the flag. */
bool reader_fences_confirm(struct reader_registry *registry, uint32_t mode, bool visited);
/* Behind it, by the same thread. */
void reader_fences_visit_end(struct reader_registry *registry);
/* The calling thread fences from now on and says so, unless it has interrupted a slow path of its own. */
void reader_fences_acknowledge(struct reader_registry *registry);
/* Back to light fences: grace periods use heavy ones from now on.  Nobody may be between a fence and its scan. */
void reader_fences_restore(struct reader_registry *registry);

/* The calling thread is about to sleep in a call of the library, which may last: full fences need not wait for it.
 * True if it was not away before: then reader_sleep_end() is owed. */
bool reader_sleep_begin(void);
void reader_sleep_end(struct reader_registry *registry);
/* A section begins, in a handler of a thread that is away: no longer away, before the mode is read. */
void reader_sleep_interrupted(void);

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Setting a reader's flag so that it takes its slow path: to report, to become idle, to end a boost, to fence. */
#ifndef RTRCU_READER_ASK_H
#define RTRCU_READER_ASK_H

#include "reader/registry.h"
#include "reader/word.h"

/* ---- the flag: word.c ---- */

/* Sections and discipline from the owner's word, 0 = outside.  Under the leaf lock; the owner is registered. */
uint32_t reader_inside(const struct reader_record *record);
/* Set the owner's flag, so that the owner takes its slow path.  True if the flag was clear.  Under the leaf lock; the
 * owner is registered. */
bool reader_arm(struct reader_record *record);
/* Clear the calling thread's flag, before it reads the requests; a full fence.  Called inside a counted slow path
 * (INV-RD2).  In full-fence mode, and while the thread is asleep in the library, the flag stays set. */
void reader_disarm(struct reader_registry *registry);
/* Set the calling thread's own flag, so that it takes its slow path again.  A thread without a record takes its slow
 * path in any case. */
void reader_arm_self(void);

/* ---- idle threads: idle.c ---- */

/* End the calling thread's idleness, so that scans read its word.  Called in a slow path that is counted, before the
 * thread is inside or returns to its fast path. */
void reader_idle_exit(void);
/* Slots of threads that never become idle, as bits. */
static inline uint32_t reader_never_idle(const struct reader_leaf *leaf)
{
    return rtrcu_load_acquire(&leaf->deadline[0]) | rtrcu_load_acquire(&leaf->deadline[1]); /* [O26] */
}
/* Count a scan that found the owner @inside, or outside.  True if it was outside in @scans consecutive scans.  Under
 * the leaf lock. */
bool reader_count_scan(struct reader_record *record, bool inside, uint32_t scans);
/* Before a heavy fence: make threads found outside in @scans consecutive scans candidates for idle, and set their
 * flags.  True if there are any.  Under the leaf lock. */
bool reader_idle_propose(struct reader_leaf *leaf, uint32_t scans);
/* Candidates for idle, as bits. */
static inline uint32_t reader_idle_candidates(const struct reader_leaf *leaf)
{
    return reader_scanned_candidates(&leaf->scanned);
}
/* After the fence that follows reader_idle_propose(): is the owner outside, and will its next section or quiescent
 * state begin with reader_idle_exit()? Under the leaf lock. */
bool reader_idle_confirmed(const struct reader_record *record);
/* Of the candidates, those in @asleep are idle from now on, unless they have called reader_idle_exit()
 * meanwhile.  Under the leaf lock. */
static inline void reader_idle_settle(struct reader_leaf *leaf, uint32_t asleep)
{
    reader_scanned_settle(&leaf->scanned, asleep);
}

/* ---- boosting: boost.c ----
 *
 *  record.boost       by             when
 *  0 -> owner's id   reader_boost()  before it sets the flag; by compare-and-swap, since the kernel adds a waiters bit
 *  id -> 0           the owner      its slow path, after its report; with the waiters bit set by FUTEX_UNLOCK_PI
 *  id -> 0           the booster     it finds the owner outside, or gives up
 */

/* Store the owner's id in the boost word and set the owner's flag.  False: the boost word is in use.  Under the leaf
 * lock.  @armed: receives a count for reader_boost_confirmed(). */
bool reader_boost(struct reader_record *record, uint32_t *armed);
/* Is the owner's flag still set, so that its unlock will release the boost word?  If not, sets the flag again.  False
 * too if another thread has set the flag since the last call, since no fence has followed.  Under the leaf lock, after
 * a heavy fence that followed the last call. */
bool reader_boost_confirmed(struct reader_record *record, uint32_t *armed);
/* Called by the booster: clear the boost word if the owner has not released it. */
void reader_boost_withdraw(struct reader_record *record, struct plat_tid owner);
/* Is the owner boosted now?  A hint. */
static inline bool reader_is_boosted(const struct reader_record *record)
{
    return rtrcu_load_relaxed(&record->boost) != 0;
}
/* The boost word, which the booster locks and the owner unlocks. */
static inline uint32_t *reader_boost_word(struct reader_record *record)
{
    return &record->boost;
}
/* The calling thread's boost word, NULL if the thread has no record. */
static inline uint32_t *reader_self_boost_word(void)
{
    return rtrcu_self.boost;
}
/* Called by the owner: end its boost.  True: the boost word needs FUTEX_UNLOCK_PI. */
bool reader_boost_release(void);

/* ---- full-fence mode: fence_mode.c ---- */

/* fence_ack of a thread asleep in the library: in every mode, the thread fences before it reads. */
#define READER_FENCES_ANY UINT32_MAX

static inline bool reader_fences_are_full(const struct reader_registry *registry)
{
    return rtrcu_load_relaxed(&registry->fence_mode) & 1;
}

/* The fence mode: odd while readers must use full fences; incremented at each change. */
static inline uint32_t reader_fences_mode(const struct reader_registry *registry)
{
    return rtrcu_load_acquire(&registry->fence_mode);
}

/* Is every reader known to fence in @mode, so that a grace period needs no heavy fence? */
static inline bool reader_fences_are_confirmed(const struct reader_registry *registry, uint32_t mode)
{
    return (mode & 1) && rtrcu_load_acquire(&registry->fence_confirmed) == mode;
}

/* Use full fences from the start, before any reader exists. */
void reader_fences_start_full(struct reader_registry *registry);
/* Begin the switch to full fences; does nothing if they are in force. */
void reader_fences_switch(struct reader_registry *registry);
/* Before a visit to every CPU: arm every reader, and store in each record how often it has been armed.  False: another
 * thread has begun a visit, and has not called reader_fences_visit_end(). */
bool reader_fences_visit_begin(struct reader_registry *registry);
/* Will every reader fence in @mode from now on?  The owners' acknowledgments prove it, and so do the stored counts if
 * @visited: after a visit to every CPU.  Sets lost flags again. */
bool reader_fences_confirm(struct reader_registry *registry, uint32_t mode, bool visited);
/* End the visit.  Called by the thread that began it. */
void reader_fences_visit_end(struct reader_registry *registry);
/* Acknowledge the full-fence mode: the calling thread fences from now on.  Does nothing if it has interrupted a slow
 * path of its own. */
void reader_fences_acknowledge(struct reader_registry *registry);
/* Return to light fences: grace periods use heavy fences from now on.  No thread may be between a fence and its
 * scan. */
void reader_fences_restore(struct reader_registry *registry);

/* Mark the calling thread as asleep in the library: it may sleep for long, and a switch to full fences need not wait
 * for it.  True if this call marked the thread: then reader_sleep_end() must follow. */
bool reader_sleep_begin(void);
void reader_sleep_end(struct reader_registry *registry);
/* Called when a section begins in a handler of a thread that sleeps in the library: mark the thread not asleep, before
 * it reads the mode. */
void reader_sleep_interrupted(void);

#endif

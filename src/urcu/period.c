/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One grace period of an adopted flavour, advanced by the threads that wait for it.
 *
 * tested by: test/explore/scenarios/adopted.cc, test/dropin/readers.c
 */
#include "urcu/urcu.h"

/* Number of polls of the readers between two readings of the clock, while spinning. */
#define POLLS_A_CLOCK 8
/* Longest pause of a thread that sleeps until readers wake it; its pauses grow up to this. */
#define LONGEST_SLEEP_NS 100000000
/* Shortest and longest pause of a waiter where readers never wake it. */
#define FIRST_NAP_NS 50000
#define LONGEST_NAP_NS 10000000
#define WAKE_ME UINT32_MAX

/* [O2] Snapshot's half, as in gp_snap(); the other half is begin(). */
uint64_t urcu_snap(const struct rtrcu_adopted *adopted)
{
    rtrcu_fence_full();
    return seq_snap(rtrcu_load_acquire(&adopted->seq));
}

/* [O4] Waiter's half, as in gp_reached(); the other half is urcu_end(). */
bool urcu_reached(const struct rtrcu_adopted *adopted, uint64_t cookie)
{
    if (!seq_reached(rtrcu_load_acquire(&adopted->seq), cookie))
        return false;
    rtrcu_fence_full();
    return true;
}

/* ---- fences ---- */

/* Fence after the kernel began to refuse membarrier(): make readers execute full fences, and visit every CPU, so that
 * each reader sees the change.  The visit is also the fence of this grace period. */
static bool fence_by_visit(struct rtrcu_adopted *adopted)
{
    adopted->unconfirmed = true;
    rtrcu_store_relaxed(adopted->flavour.light, 0);
    rtrcu_fence_full();

    if (plat_fence_by_visit(NULL) != 0 && plat_fence_heavy() != 0)
        return false;

    adopted->unconfirmed = false;
    rtrcu_fence_full();
    return true;
}

static bool urcu_fence(struct rtrcu_adopted *adopted)
{
    uint32_t *light = adopted->flavour.light;

    if (adopted->unconfirmed)
        return fence_by_visit(adopted);

    if (!light || !rtrcu_load_relaxed(light)) {
        rtrcu_fence_full();
        return true;
    }

    return plat_fence_heavy() == 0 || fence_by_visit(adopted);
}

/* Fence; if every kind of fence is refused, report that and try again once per tick. */
static void fence_surely(struct rtrcu_adopted *adopted)
{
    while (!urcu_fence(adopted)) { /* ends when the kernel permits a fence, if ever: the report names the cause */
        urcu_report_if_old(adopted, false);
        urcu_sleep_on(adopted, &adopted->nap, 0, urcu_tick_ns(adopted));
    }
}

/* ---- the readers ---- */

/* [O24] Scan half, after the fence of the begin; the reader's half is the lock compiled into programs: the reader
 * stores its word, then loads pointers.
 *  - The reader's word first:  our fence makes the word visible, and the reader is a holdout;
 *  - Our fence first:  the section's loads follow our fence, and find no unlinked object.
 * Forbidden: the scan sees the reader outside AND the section reads an old pointer.  For new readers see publish(). */
static uint32_t urcu_scan(struct rtrcu_adopted *adopted)
{
    struct urcu_chunk *chunk = NULL;
    struct adopt_record *record;
    uint32_t holdouts = 0;

    lock_acquire(&adopted->words_lock);
    for (uint32_t at; (record = urcu_next_record(adopted, &chunk, &at));) {
        struct rtrcu_adopted_reader *reader = rtrcu_load_acquire(&record->reader);
        record->seen = reader ? rtrcu_load_acquire(&reader->word) : 0;
        record->is_holdout = urcu_is_inside(adopted, record->seen);
        holdouts += record->is_holdout;
    }
    adopted->holdouts = holdouts;

    lock_release(&adopted->words_lock);
    return holdouts;
}

/* [O17] Stepping half; urcu_passed() compares a reader's word with the word that the scan saw.  The step follows the
 * scan.  If the step were first, the scan could see a section that began after the fence and has the new generation.
 * The grace period would wait for that section, and for later sections with the same generation. */
static void urcu_step(struct rtrcu_adopted *adopted)
{
    uint64_t *generation = adopted->flavour.generation;
    invariant("INV-AD1", lock_is_mine(&adopted->gp_lock));
    rtrcu_store_release(generation, rtrcu_load_relaxed(generation) + adopted->kind->step);
}

/* [O17] True if the section that the scan saw has ended.  The other halves are urcu_step() and urcu_end().
 *  - The word is outside:  that section has ended; its accesses precede our acquire, or the fence of urcu_end();
 *  - The word differs from the one seen:  the reader stored the new word after the scan's load.  Had the reader stored
 *    the new word before the begin's fence, the scan would have seen that word; so the section of the new word loads
 *    pointers after that fence.
 * An equal word may belong to a later section, whose owner had loaded the generation before the step: that section ends
 * too, and the owner's next section loads the new generation.
 * Forbidden: the reader counts as passed AND the section that the scan saw reads on; or a newer section delays the
 * grace period for ever. */
static bool urcu_passed(struct rtrcu_adopted *adopted, const struct adopt_record *record)
{
    invariant("INV-AD2", lock_is_mine(&adopted->words_lock));
    struct rtrcu_adopted_reader *reader = rtrcu_load_relaxed(&record->reader);
    uint64_t word = reader ? rtrcu_load_acquire(&reader->word) : 0;
    return !urcu_is_inside(adopted, word) || ((word ^ record->seen) & adopted->kind->section);
}

/* Returns the number of remaining holdouts. */
static uint32_t poll_readers(struct rtrcu_adopted *adopted)
{
    struct urcu_chunk *chunk = NULL;
    struct adopt_record *record;

    lock_acquire(&adopted->words_lock);
    for (uint32_t at; adopted->holdouts && (record = urcu_next_record(adopted, &chunk, &at));) {
        if (!record->is_holdout || !urcu_passed(adopted, record))
            continue;
        record->is_holdout = false;
        adopted->holdouts--;
    }

    uint32_t holdouts = adopted->holdouts;
    lock_release(&adopted->words_lock);
    return holdouts;
}

/* qsbr: make the holdouts wake this thread: each reader checks only the flag `waiting` of its own block. */
static void ask_to_be_woken(struct rtrcu_adopted *adopted)
{
    struct urcu_chunk *chunk = NULL;
    struct adopt_record *record;

    lock_acquire(&adopted->words_lock);
    for (uint32_t at; (record = urcu_next_record(adopted, &chunk, &at));) {
        struct rtrcu_adopted_reader *reader = rtrcu_load_relaxed(&record->reader);
        if (record->is_holdout && reader)
            rtrcu_store_release(&reader->waiting, 1);
    }
    lock_release(&adopted->words_lock);
}

static bool spin(struct rtrcu_adopted *adopted)
{
    int64_t spin_ns = config_now(adopted->all->config)->spin_us * 1000;
    for (int64_t until = plat_clock_now() + spin_ns; spin_ns != 0 && plat_clock_now() < until;) {
        for (int i = 0; i < POLLS_A_CLOCK; i++) {
            if (poll_readers(adopted) == 0)
                return true;
            rtrcu_cpu_relax();
        }
    }
    return poll_readers(adopted) == 0;
}

/* [O18] Sleeper half; the reader's half is the unlock compiled into programs, and urcu_offline(): the reader stores its
 * word, then reads the futex.
 *  - Our futex first:  the reader sees the futex, and wakes us; the kernel reads the futex again before we sleep;
 *  - The reader's word first:  our fence makes the word visible, and the poll after our fence finds the reader outside.
 * Forbidden: we sleep AND the reader that we wait for has left without waking us. */
static bool urcu_sleep(struct rtrcu_adopted *adopted, int64_t timeout_ns)
{
    uint32_t *futex = adopted->flavour.futex;
    invariant("INV-AD1", lock_is_mine(&adopted->gp_lock));

    rtrcu_store_relaxed(futex, WAKE_ME);
    if (adopted->flavour.kind == RTRCU_ADOPT_QSBR)
        ask_to_be_woken(adopted);

    bool fenced = urcu_fence(adopted);
    bool clear = poll_readers(adopted) == 0;

    if (!clear) {
        bool went = reader_sleep_begin();
        plat_futex_wait_shared(futex, WAKE_ME, fenced ? timeout_ns : urcu_tick_ns(adopted));
        call_check();
        if (went)
            reader_sleep_end(adopted->all->registry);
        clear = poll_readers(adopted) == 0;
    }

    rtrcu_store_relaxed(futex, 0);
    return clear;
}

static bool nap(struct rtrcu_adopted *adopted, int64_t timeout_ns)
{
    urcu_sleep_on(adopted, &adopted->nap, 0, timeout_ns);
    return poll_readers(adopted) == 0;
}

static void wait_for_readers(struct rtrcu_adopted *adopted)
{
    bool wakes = adopted->kind->wakes;
    int64_t rest_ns = wakes ? urcu_tick_ns(adopted) : FIRST_NAP_NS;
    int64_t longest_ns = wakes ? LONGEST_SLEEP_NS : LONGEST_NAP_NS;

    bool clear = spin(adopted);
    while (!clear) { /* ends when the readers that were seen inside have left */
        clear = wakes ? urcu_sleep(adopted, rest_ns) : nap(adopted, rest_ns);
        rest_ns = rest_ns < longest_ns ? 2 * rest_ns : rest_ns;
        if (!clear)
            urcu_report_if_old(adopted, true);
    }
}

/* ---- advancing ---- */

/* [O2] The begin: the number is odd before the fence, so a cookie taken from here on is that of the next grace
 * period. */
static void begin(struct rtrcu_adopted *adopted)
{
    adopted->began_ns = plat_clock_now();
    adopted->report_ns = watch_next_report(adopted->all->watch, 0);
    rtrcu_store_release(&adopted->seq, seq_started(rtrcu_load_relaxed(&adopted->seq)));
    rtrcu_fence_full();
}

/* [O4] [O17] Where a store may become visible before earlier loads are done, readers with light fences must be reached
 * once more: after this fence the loads of their sections are done. */
static void urcu_end(struct rtrcu_adopted *adopted)
{
    if (RTRCU_STORES_PASS_LOADS)
        fence_surely(adopted);

    rtrcu_tsan_acquire(adopted->flavour.generation);
    rtrcu_store_release(&adopted->seq, seq_ended(rtrcu_load_relaxed(&adopted->seq)));
    rtrcu_count_add(&adopted->completed, 1);
}

static void advance(struct rtrcu_adopted *adopted)
{
    begin(adopted);
    fence_surely(adopted);

    if (urcu_scan(adopted) != 0) {
        urcu_step(adopted);
        rtrcu_count_add(&adopted->busy, 1);
        wait_for_readers(adopted);

        int64_t took_ns = plat_clock_now() - adopted->began_ns;
        if (took_ns > rtrcu_load_relaxed(&adopted->longest_ns))
            rtrcu_store_relaxed(&adopted->longest_ns, took_ns);
    }

    urcu_end(adopted);
}

/* [O10] Releasing half, as in turn_gp_unlock(); the waiter's half is urcu_wait(). */
static void release(struct rtrcu_adopted *adopted)
{
    lock_release(&adopted->gp_lock);
    rtrcu_fetch_add(&adopted->event, 1);
    if (tally_read(&adopted->waiters))
        plat_futex_wake(&adopted->event, INT32_MAX);
}

/* Take the gp lock.  False: another thread has it, and this thread is not real-time; a real-time thread boosts the
 * holder. */
static bool take_gp_lock(struct rtrcu_adopted *adopted)
{
    if (lock_try(&adopted->gp_lock))
        return true;
    if (plat_sched_rt_priority() == 0)
        return false;
    work_take_long(adopted->all->work, &adopted->gp_lock);
    return true;
}

/* [O10] Waiter's half, as in advance_until(); the releasing half is release(). */
void urcu_wait(struct rtrcu_adopted *adopted, uint64_t cookie)
{
    while (!urcu_reached(adopted, cookie)) { /* bounded: the cookie is reached by the end of the next grace period */
        uint32_t event = rtrcu_load_acquire(&adopted->event);

        if (take_gp_lock(adopted)) {
            if (!urcu_reached(adopted, cookie))
                advance(adopted);
            release(adopted);
            continue;
        }

        tally_raise(&adopted->waiters);
        urcu_sleep_on(adopted, &adopted->event, event, LONGEST_SLEEP_NS);
        (void)tally_lower(&adopted->waiters);
    }
}

bool urcu_in_section(const struct rtrcu_adopted *adopted)
{
    const struct rtrcu_adopted_reader *self = urcu_self(adopted);
    bool online = adopted->flavour.kind == RTRCU_ADOPT_QSBR;
    return self && !online && urcu_is_inside(adopted, rtrcu_load_relaxed(&self->word));
}

void urcu_refuse_wait(struct rtrcu_adopted *adopted, const char *call, const char *where)
{
    complain(&adopted->waits_inside,
             "rtrcu: %s: thread %u: %s() inside a %s would wait for itself, and returns without waiting",
             adopted->flavour.name, lock_thread_number(), call, where);
}

bool urcu_may_wait(struct rtrcu_adopted *adopted, const char *call)
{
    const struct rtrcu_adopted_reader *self = urcu_self(adopted);
    bool inside = urcu_in_section(adopted);

    if (!inside && !(self && self->in_callbacks))
        return true;

    urcu_refuse_wait(adopted, call, inside ? "read-side critical section" : "callback");
    return false;
}

bool urcu_wait_begin(struct rtrcu_adopted *adopted, const char *call)
{
    struct rtrcu_adopted_reader *self = urcu_self(adopted);
    if (!self || !urcu_is_inside(adopted, rtrcu_load_relaxed(&self->word)))
        return false;

    if (adopted->flavour.kind == RTRCU_ADOPT_QSBR) {
        urcu_offline(adopted);
        return true;
    }

    complain(
        &adopted->waits_inside,
        "rtrcu: %s: thread %u: %s() inside a read-side critical section waits for itself; call it after the unlock",
        adopted->flavour.name, lock_thread_number(), call);
    return false;
}

void urcu_wait_end(struct rtrcu_adopted *adopted, bool was_online)
{
    if (was_online)
        urcu_online(adopted);
}

void urcu_synchronize(struct rtrcu_adopted *adopted, const char *call)
{
    bool was_online = urcu_wait_begin(adopted, call);
    urcu_wait(adopted, urcu_snap(adopted));
    urcu_wait_end(adopted, was_online);
}

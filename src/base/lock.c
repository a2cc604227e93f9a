/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The ranked lock over a priority-inheriting futex: one compare-and-swap to take it and one to release it without
 * contention.
 *
 * tested by: test/unit/base/lock.cc
 */
#include "base/lock.h"
#include "base/call.h"

/* Futex words hold a thread id in their low 30 bits; see futex(2). */
#define OWNER_MASK UINT32_C(0x3fffffff)
/* First pause between polls, where the futex cannot wait; each pause is twice the one before, up to the longest. */
#define FIRST_PAUSE_NS 20000
#define LONGEST_PAUSE_NS 1000000

/* Returns the calling thread's id, which the first call stores.  A handler may fork between the query and the exchange:
 * in the child the queried id is stale, but the child has stored its own id already, so the exchange fails. */
uint32_t lock_thread_number(void)
{
    uint32_t unknown = 0;
    if (rtrcu_load_relaxed(&rtrcu_self.thread_id) == 0)
        (void)rtrcu_compare_exchange(&rtrcu_self.thread_id, &unknown, plat_thread_id().number);
    return rtrcu_load_relaxed(&rtrcu_self.thread_id);
}

struct plat_tid lock_after_fork_child(void)
{
    struct plat_tid old = {rtrcu_load_relaxed(&rtrcu_self.thread_id)};
    rtrcu_store_relaxed(&rtrcu_self.thread_id, 0);
    rtrcu_self.locks_held = 0;
    return old;
}

void lock_end_wait(void)
{
    uint32_t *word = rtrcu_load_relaxed(&rtrcu_self.waits_at);
    if (word)
        rtrcu_store_relaxed(word, 0);
}

void lock_init(struct lock *lock, enum lock_rank rank)
{
    lock->word = 0;
    lock->rank = rank;
    lock->beside = false;
}

void lock_reset(struct lock *lock)
{
    rtrcu_store_relaxed(&lock->word, 0);
}

bool lock_is_mine(const struct lock *lock)
{
    return (rtrcu_load_relaxed(&lock->word) & OWNER_MASK) == lock_thread_number();
}

/* The advice that ends a message, if the program's mistake is known. */
static const char *advice(const struct lock *lock)
{
    bool is_table = lock->rank == LOCK_RANK_STRIPE || lock->rank == LOCK_RANK_LPM;
    return is_table ? "; update no table in a signal handler, nor in a function that an update calls" : "";
}

/* Record the lock before it is taken: a handler must not find it taken by its own thread but not recorded.  Returns the
 * previous record. */
static uint32_t note(const struct lock *lock, bool same_rank_allowed)
{
    uint32_t before = rtrcu_self.locks_held;
    uint32_t too_high = ~UINT32_C(0) << (lock->rank + (same_rank_allowed ? 1 : 0));
    if (CHECK_DEBUG && (before & too_high))
        plat_die("rtrcu: lock of rank %u taken while ranks 0x%x are held%s\n", lock->rank, before, advice(lock));

    rtrcu_store_relaxed(&rtrcu_self.locks_held, before | UINT32_C(1) << lock->rank);
    rtrcu_fence_light();
    return before;
}

static void unnote(uint32_t before)
{
    rtrcu_fence_light();
    rtrcu_store_relaxed(&rtrcu_self.locks_held, before);
}

/* Complete the acquisition of @lock.  If the caller already held a lock of this rank, the release of @lock leaves the
 * rank recorded. */
static void taken(struct lock *lock, uint32_t before)
{
    rtrcu_tsan_acquire(lock);
    lock->beside = before & UINT32_C(1) << lock->rank;
}

static bool take(struct lock *lock)
{
    uint32_t nobody = 0;
    return rtrcu_compare_exchange(&lock->word, &nobody, lock_thread_number());
}

/* Sleep before the next poll.  Used where the futex cannot wait for the owner: a sandbox refuses the call, or the
 * kernel has no memory, or it finds a cycle of waiters that only the program can break. */
static void look_later(int64_t *pause_ns)
{
    plat_clock_sleep(*pause_ns);
    if (*pause_ns < LONGEST_PAUSE_NS)
        *pause_ns *= 2;
}

static void acquire(struct lock *lock, uint32_t before)
{
    int64_t pause_ns = FIRST_PAUSE_NS;

    while (!take(lock)) { /* ends when the owner releases; the kernel boosts the owner meanwhile */
        rtrcu_self.lock_waits += pause_ns == FIRST_PAUSE_NS;
        rtrcu_store_relaxed(&rtrcu_self.waits_at, &lock->word);
        rtrcu_fence_light();
        int error = plat_futex_lock_pi(&lock->word, PLAT_FOREVER);
        rtrcu_store_relaxed(&rtrcu_self.waits_at, NULL); /* a handler that set the field has returned */
        call_check();                                    /* ends a torn child, where the kernel restarted the wait */
        if (!error)
            break;

        if (lock_is_mine(lock))
            plat_die("rtrcu: lock of rank %u taken twice by thread %u%s\n", lock->rank, lock_thread_number(),
                     advice(lock));
        if (error != -EINTR && error != -EAGAIN)
            look_later(&pause_ns);
    }

    taken(lock, before);
}

void lock_acquire(struct lock *lock)
{
    acquire(lock, note(lock, false));
}

void lock_acquire_same_rank(struct lock *lock)
{
    acquire(lock, note(lock, true));
}

bool lock_try(struct lock *lock)
{
    uint32_t before = note(lock, true);
    if (take(lock)) {
        taken(lock, before);
        return true;
    }

    unnote(before);
    return false;
}

/* Passes the lock to the first waiter.  If the kernel refuses that, clears the word, and the waiters find it free when
 * they poll. */
void lock_release(struct lock *lock)
{
    call_check(); /* a torn child holds no lock */
    must_hold(lock);
    bool beside = lock->beside;

    rtrcu_tsan_release(lock);
    uint32_t expected = lock_thread_number();

    if (!rtrcu_compare_exchange(&lock->word, &expected, 0) && plat_futex_unlock_pi(&lock->word) != 0)
        rtrcu_exchange(&lock->word, 0);

    if (!beside)
        unnote(rtrcu_self.locks_held & ~(UINT32_C(1) << lock->rank));
}

void lock_release_if_mine(struct lock *lock)
{
    if (lock_is_mine(lock))
        lock_release(lock);
}

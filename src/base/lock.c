/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The ranked lock over a priority-inheriting futex: one compare-and-swap each way while nobody waits.
 *
 * tested by: test/unit/base/lock.cc
 */
#include "base/lock.h"
#include "base/call.h"

/* Futex words hold a thread id in their low 30 bits; see futex(2). */
#define OWNER_MASK UINT32_C(0x3fffffff)
/* How long to leave the CPU to an owner that cannot be waited for. */
#define FIRST_PAUSE_NS 20000
#define LONGEST_PAUSE_NS 1000000

/* In the child of a handler that forks behind the question the answer is old, and the child has asked anew. */
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

/* Before the lock is taken: a handler must not find it taken by its own thread and not noted.  Returns what was noted
 * before. */
static uint32_t note(const struct lock *lock, bool same_rank_allowed)
{
    uint32_t before = rtrcu_self.locks_held;
    uint32_t too_high = ~UINT32_C(0) << (lock->rank + (same_rank_allowed ? 1 : 0));
    if (CHECK_DEBUG && (before & too_high))
        plat_die("rtrcu: lock of rank %u taken while ranks 0x%x are held\n", lock->rank, before);

    rtrcu_store_relaxed(&rtrcu_self.locks_held, before | UINT32_C(1) << lock->rank);
    rtrcu_fence_light();
    return before;
}

static void unnote(uint32_t before)
{
    rtrcu_fence_light();
    rtrcu_store_relaxed(&rtrcu_self.locks_held, before);
}

/* The caller has the word.  Only the first lock of a rank that a thread holds takes the note away. */
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

/* The owner does not run on the kernel's advice: look again and again, and leave the CPU to it meanwhile.  That is what
 * is left where a sandbox refuses the futex, the kernel has no memory for it, or finds a circle of waiters that only
 * the program can break. */
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
        int error = plat_futex_lock_pi(&lock->word, PLAT_FOREVER);
        call_check(); /* in a torn child the kernel has gone on with the wait */
        if (!error)
            break;

        if (lock_is_mine(lock))
            plat_die("rtrcu: lock of rank %u taken twice by thread %u\n", lock->rank, lock_thread_number());
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

/* Where handing over to a waiter is refused the word becomes free all the same: waiters look again. */
void lock_release(struct lock *lock)
{
    call_check(); /* a torn child holds none */
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

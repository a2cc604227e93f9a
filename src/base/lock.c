/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The ranked lock over a priority-inheriting futex: one compare-and-swap each way while nobody waits.
 */
#include "base/lock.h"

/* Futex words hold a thread id in their low 30 bits; see futex(2). */
#define OWNER_MASK UINT32_C(0x3fffffff)

uint32_t lock_thread_id(void)
{
    if (rtrcu_self.thread_id == 0)
        rtrcu_self.thread_id = (uint32_t)plat_thread_id();
    return rtrcu_self.thread_id;
}

void lock_init(struct lock *lock, enum lock_rank rank)
{
    lock->word = 0;
    lock->rank = rank;
}

void lock_reset(struct lock *lock)
{
    rtrcu_store_relaxed(&lock->word, 0);
}

bool lock_is_mine(const struct lock *lock)
{
    return (rtrcu_load_relaxed(&lock->word) & OWNER_MASK) == lock_thread_id();
}

static void note_held(const struct lock *lock, bool same_rank_allowed)
{
    uint32_t too_high = ~UINT32_C(0) << (lock->rank + (same_rank_allowed ? 1 : 0));
    if (CHECK_DEBUG && (rtrcu_self.locks_held & too_high))
        plat_die("rtrcu: lock of rank %u taken while ranks 0x%x are held\n", lock->rank, rtrcu_self.locks_held);
    rtrcu_self.locks_held |= UINT32_C(1) << lock->rank;
}

static void take(struct lock *lock)
{
    uint32_t expected = 0;
    if (rtrcu_compare_exchange(&lock->word, &expected, lock_thread_id())) {
        rtrcu_tsan_acquire(lock);
        return;
    }
    int error;
    do { /* ends when the owner releases; the kernel lends it our priority meanwhile */
        error = plat_futex_lock_pi(&lock->word, PLAT_FOREVER);
        if (error && error != -EINTR && error != -EAGAIN)
            plat_die("rtrcu: lock of rank %u: futex error %d\n", lock->rank, error);
    } while (error);
    rtrcu_tsan_acquire(lock);
}

void lock_acquire(struct lock *lock)
{
    note_held(lock, false);
    take(lock);
}

void lock_acquire_same_rank(struct lock *lock)
{
    note_held(lock, true);
    take(lock);
}

bool lock_try(struct lock *lock)
{
    uint32_t expected = 0;
    if (!rtrcu_compare_exchange(&lock->word, &expected, lock_thread_id()))
        return false;
    note_held(lock, true);
    rtrcu_tsan_acquire(lock);
    return true;
}

void lock_release(struct lock *lock)
{
    must_hold(lock);
    rtrcu_tsan_release(lock);
    uint32_t expected = lock_thread_id();
    if (!rtrcu_compare_exchange(&lock->word, &expected, 0))
        (void)plat_futex_unlock_pi(&lock->word); /* somebody waits: the kernel hands it over */
    rtrcu_self.locks_held &= ~(UINT32_C(1) << lock->rank);
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Replacements of the library's lock functions: they measure the leaf lock, and in the variants of 2026 spin for the
 * leaf lock and for the locks of the threads' own lists.
 */
#include "blocked/child/meter.h"

#include "parked/parked.h"

/* Declared with the types of the library's functions, so that a change of their signatures is a compile error. */
__typeof__(lock_acquire) __real_lock_acquire, __wrap_lock_acquire;
__typeof__(lock_try) __real_lock_try, __wrap_lock_try;
__typeof__(lock_release) __real_lock_release, __wrap_lock_release;
__typeof__(parked_promote) __real_parked_promote, __wrap_parked_promote;

static struct {
    bool spin;
    double ns_per_cycle;
    struct meter_totals *totals; /* atomic */
    /* Totals of the present holder; only the holder writes them. */
    struct meter_totals *into;
    uint64_t began, waited;
} meter;

static _Thread_local bool is_reader;

static uint64_t cycles_now(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#endif
}

void meter_init(bool spin, double cycles_per_ns)
{
    meter.spin = spin;
    meter.ns_per_cycle = 1 / cycles_per_ns;
}

void meter_this_is_a_reader(void)
{
    is_reader = true;
}

void meter_switch(struct meter_totals *totals)
{
    rtrcu_store_release(&meter.totals, totals);
}

/* Takes the lock by spinning, as in the patches of 2026: the waiter keeps its CPU, even if the holder does not run. */
static void spin_for(struct lock *lock)
{
    while (!__real_lock_try(lock)) /* ends when the holder has released the lock */
        while (rtrcu_load_relaxed(&lock->word) != 0)
            rtrcu_cpu_relax();
}

static void note_held(struct meter_totals *into, uint64_t asked)
{
    meter.into = into;
    if (!into)
        return;
    meter.began = cycles_now();
    meter.waited = meter.began - asked;
}

void __wrap_lock_acquire(struct lock *lock)
{
    if (lock->rank != LOCK_RANK_LEAF) {
        if (meter.spin && lock->rank == LOCK_RANK_TASKS)
            spin_for(lock);
        else
            __real_lock_acquire(lock);
        return;
    }
    struct meter_totals *into = rtrcu_load_acquire(&meter.totals);
    uint64_t asked = into ? cycles_now() : 0;
    if (meter.spin)
        spin_for(lock);
    else
        __real_lock_acquire(lock);
    note_held(into, asked);
}

bool __wrap_lock_try(struct lock *lock)
{
    if (!__real_lock_try(lock))
        return false;
    if (lock->rank == LOCK_RANK_LEAF) {
        struct meter_totals *into = rtrcu_load_acquire(&meter.totals);
        note_held(into, into ? cycles_now() : 0);
    }
    return true;
}

static unsigned int bucket_of(uint64_t cycles)
{
    uint64_t ns = (uint64_t)((double)cycles * meter.ns_per_cycle);
    unsigned int bucket = ns ? 63 - (unsigned int)__builtin_clzll(ns) : 0;
    return bucket < METER_BUCKETS ? bucket : METER_BUCKETS - 1;
}

static void count(struct meter_use *use, uint64_t held)
{
    use->acquisitions++;
    use->hold += held;
    use->wait += meter.waited;
    if (held > use->hold_max)
        use->hold_max = held;
    if (meter.waited > use->wait_max)
        use->wait_max = meter.waited;
    use->hold_log2[bucket_of(held)]++;
}

void __wrap_lock_release(struct lock *lock)
{
    if (lock->rank == LOCK_RANK_LEAF && meter.into)
        count(is_reader ? &meter.into->readers : &meter.into->others, cycles_now() - meter.began);
    __real_lock_release(lock);
}

struct reader_kinds __wrap_parked_promote(struct reader_record *record, struct reader_kinds thread, uint32_t *moved)
{
    struct meter_totals *into = meter.into;
    uint64_t began = into ? cycles_now() : 0;
    struct reader_kinds fresh = __real_parked_promote(record, thread, moved);
    if (into && *moved) {
        into->promotions += *moved;
        into->promotion_cycles += cycles_now() - began;
    }
    return fresh;
}

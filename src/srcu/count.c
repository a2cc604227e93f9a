/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sums over a domain's stripes, and the array of stripes of a domain with contended readers.
 */
#include "srcu/srcu.h"

static uint64_t of_stripe(const uint64_t counts[2], uint32_t indexes)
{
    uint64_t sum = 0;
    for (uint32_t index = 0; index < 2; index++)
        sum += indexes >> index & 1 ? rtrcu_load_acquire(&counts[index]) : 0;
    return sum;
}

/* Returns the number of stripes besides the first, which begin at *@at. */
static uintptr_t more_stripes(const struct srcu_struct *domain, const struct rtrcu_srcu_stripe **at)
{
    uintptr_t stripes = rtrcu_load_acquire(&domain->stripes); /* [O35] reloaded for each sum */
    *at = (const struct rtrcu_srcu_stripe *)(stripes & ~SRCU_STRIPES_MASK);
    return *at == srcu_first(domain) ? 0 : (stripes & SRCU_STRIPES_MASK) + 1;
}

static uint64_t sum_unlocks(const struct srcu_struct *domain, uint32_t indexes)
{
    const struct rtrcu_srcu_stripe *at;
    uintptr_t more = more_stripes(domain, &at);
    uint64_t sum = of_stripe(srcu_first(domain)->unlocks, indexes);
    for (uintptr_t i = 0; i < more; i++)
        sum += of_stripe(at[i].unlocks, indexes);
    return sum;
}

static uint64_t sum_locks(const struct srcu_struct *domain, uint32_t indexes)
{
    const struct rtrcu_srcu_stripe *at;
    uintptr_t more = more_stripes(domain, &at);
    uint64_t sum = of_stripe(srcu_first(domain)->locks, indexes);
    for (uintptr_t i = 0; i < more; i++)
        sum += of_stripe(at[i].locks, indexes);
    return sum;
}

uint64_t srcu_inside(const struct srcu_struct *domain)
{
    uint64_t ended = sum_unlocks(domain, SRCU_BOTH);
    return sum_locks(domain, SRCU_BOTH) - ended;
}

/* [O32] Grace period's half.  Pairs with the addition in rtrcu_srcu_enter(), which is a full fence.
 *  - The reader's addition first:  the sum of locks counts the section, and the sums differ until the sum of unlocks
 *    counts it too.
 *  - Our fence first:  the section sees everything published before our fence, and need not be waited for.
 * Forbidden: the sums are equal, no sum counts a section, AND that section reads an object that was removed before.
 *
 * [O33] Grace period's half.  Pairs with the addition in rtrcu_srcu_leave().  Unlocks are summed before locks, with
 * acquire loads.
 *  - Our sum counts an unlock:  the sum of locks counts the lock of the same section, and the section's accesses happen
 *    before ours.
 *  - Our sum misses an unlock:  the sums differ, if the sum of locks counts that section.
 * So equal sums count the same sections.  Forbidden: an unlock is counted without its lock AND so hides another section
 * that is still open. */
static bool sums_are_equal(const struct srcu_struct *domain, uint32_t indexes, bool fenced)
{
    uint64_t ended = sum_unlocks(domain, indexes);
    if (fenced)
        rtrcu_fence_full();
    return ended == sum_locks(domain, indexes);
}

bool srcu_looks_drained(const struct srcu_struct *domain, uint32_t indexes)
{
    return sums_are_equal(domain, indexes, false);
}

bool srcu_is_drained(struct srcu_struct *domain, uint32_t indexes)
{
    if (!srcu_looks_drained(domain, indexes))
        return false;
    rtrcu_count_add(&srcu_inner(domain)->fences, 1);
    return sums_are_equal(domain, indexes, true);
}

/* [O35] Growing half; the reader's half is rtrcu_srcu_own_stripe(): a reader that counts in the array has loaded the
 * array's address from the domain.
 *  - Our exchange before the fence of a sum:  the sum of locks reloads the address, and includes the array;
 *  - The fence first:  the sections that are counted in the array begin after the fence.
 * Forbidden: a sum of locks leaves out the array AND a section counted in the array began before the fence. */
static void srcu_grow(const struct srcu *all, struct srcu_struct *domain)
{
    size_t bytes = all->stripes * sizeof(struct rtrcu_srcu_stripe);
    void *array = plat_mem_pages(bytes);
    uintptr_t first = (uintptr_t)srcu_first(domain);
    if (array && !rtrcu_compare_exchange(&domain->stripes, &first, (uintptr_t)array + all->stripes - 1))
        plat_mem_release(array, bytes);
}

void srcu_sample(const struct srcu *all, struct srcu_struct *domain, uint32_t cpu)
{
    uint32_t sampled = rtrcu_load_relaxed(&domain->sampled);
    if (all->stripes == 1 || rtrcu_load_relaxed(&domain->stripes) & SRCU_STRIPES_MASK)
        return;
    if (sampled == 0)
        rtrcu_store_relaxed(&domain->sampled, 1 + cpu);
    else if (sampled != 1 + cpu)
        srcu_grow(all, domain);
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Waiting for a domain's readers: watch, announce, look again, sleep; and reports of a wait that is too long.
 *
 * tested by: test/api/srcu.cc, test/explore/scenarios/domains.cc
 */
#include "srcu/srcu.h"

static bool is_over(const struct srcu_struct *domain, struct srcu_look look)
{
    return rtrcu_load_relaxed(&srcu_inner_const(domain)->stage) != look.stage ||
           srcu_looks_drained(domain, 1u << look.index);
}

/* Poll for up to spin_us.  True: the wait is over. */
static bool watch(const struct srcu *all, const struct srcu_struct *domain, struct srcu_look look)
{
    int64_t until = plat_clock_now() + config_now(all->config)->spin_us * 1000;
    while (plat_clock_now() < until) {
        if (is_over(domain, look))
            return true;
        rtrcu_cpu_relax();
    }
    return is_over(domain, look);
}

/* [O34] Waiter's half; the other halves are rtrcu_srcu_leave() and srcu_step().  The unlock increments its counter,
 * which is a full fence, then reads the slot.
 *  - The unlock's increment first:  we see the new count when we look again, and do not sleep;
 *  - Our announcement first:  the unlock finds the key of its domain in the slot, and wakes us.
 * Forbidden: we sleep, AND the unlock that we wait for has found no announcement.
 * A waiter of another domain may overwrite our announcement: then our sleep ends after SRCU_REST_NS. */
static void sleep_until_over(struct srcu *all, struct srcu_struct *domain, struct srcu_look look)
{
    uint32_t announced = domain->key | look.index;
    rtrcu_store_relaxed(domain->slot, announced);
    rtrcu_fence_full();
    if (!is_over(domain, look))
        work_sleep(all->work, domain->slot, announced, SRCU_REST_NS);
}

void srcu_report_if_old(struct srcu *all, struct srcu_struct *domain)
{
    struct srcu_inner *inner = srcu_inner(domain);
    int64_t began_ns = rtrcu_load_relaxed(&inner->began_ns), age_ns = plat_clock_now() - began_ns;
    int64_t due_ns = rtrcu_load_relaxed(&inner->report_ns);
    if (!began_ns)
        return;
    if (age_ns < due_ns || !rtrcu_compare_exchange(&inner->report_ns, &due_ns, watch_next_report(all->watch, due_ns)))
        return;
    if (!due_ns) /* the first check only sets the age at which a report is due */
        return;
    int64_t inside = (int64_t)srcu_inside(domain);
    if (inside >= 0)
        plat_print("rtrcu: domain %s: a grace period has waited %lld ms for %lld sections\n", domain->name,
                   (long long)(age_ns / 1000000), (long long)inside);
    else
        plat_print("rtrcu: domain %s: a grace period has waited %lld ms and cannot end: more sections have ended than"
                   " begun; srcu_read_unlock() was called twice, or for a section of another domain\n",
                   domain->name, (long long)(age_ns / 1000000));
    srcu_note_report(all, domain);
}

void srcu_wait(struct srcu *all, struct srcu_struct *domain, uint64_t cookie)
{
    struct srcu_inner *inner = srcu_inner(domain);
    tally_raise(&inner->callers);
    srcu_want(domain, cookie);
    while (!srcu_reached(domain, cookie)) { /* ends when the sections have ended */
        struct srcu_look look = srcu_step(domain);
        if (srcu_reached(domain, cookie))
            break;
        if (!watch(all, domain, look)) {
            sleep_until_over(all, domain, look);
            srcu_report_if_old(all, domain);
        }
    }
    (void)tally_lower(&inner->callers);
}

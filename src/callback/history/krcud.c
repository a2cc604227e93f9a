/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Policy krcud: of the callbacks that a grace period made ready the owner runs bhlimit, and further ones while no
 * real-time work waits; a preemptible daemon runs the rest (2004).
 *
 * As in the patch, the rule is checked before each callback after the limit.  A near deadline of the owner counts as a
 * runnable real-time task.  The remaining queue goes to the head of the daemon's list as a whole, so a thread's
 * callbacks run in order; from then on the owner runs none until more become ready.  bhlimit 0: no daemon, the owner
 * runs all.
 * tested by: test/unit/callback/policy.cc
 */
#include "callback/callback.h"

void callback_rt_awake(struct callback *cb, bool awake)
{
    uint32_t cpu = (uint32_t)plat_cpu_current();
    if (awake == (rtrcu_self.rt_awake_cpu != 0))
        return;

    if (awake)
        rtrcu_self.rt_awake_cpu = 1 + cpu % PLAT_CPU_MAX;
    rtrcu_fetch_add(&cb->rt_awake[rtrcu_self.rt_awake_cpu - 1], awake ? 1 : (uint32_t)-1);
    if (!awake)
        rtrcu_self.rt_awake_cpu = 0;
}

/* Would one more callback, at the usual cost, exceed the owner's deadline? */
static bool deadline_is_near(const struct reader_record *record)
{
    int64_t cost_ns = rtrcu_load_relaxed(&callback_slot(record)->queue.cost_ns);
    return callback_deadline(record) && plat_clock_now() + cost_ns >= callback_deadline(record);
}

bool callback_rt_waits(const struct callback *cb, const struct reader_record *record)
{
    uint32_t seen = reader_cpu(record), cpu = seen == UINT32_MAX ? (uint32_t)plat_cpu_current() : seen;
    if (cpu < PLAT_CPU_MAX && rtrcu_load_relaxed(&cb->rt_awake[cpu]))
        return true;
    return deadline_is_near(record);
}

static bool always_waits(const struct callback *cb, const struct reader_record *record)
{
    (void)cb;
    (void)record;
    return true;
}

static void owner_budget(struct callback *cb, struct reader_record *record, int64_t requested_ns,
                         struct callback_budget *budget)
{
    const struct rtrcu_config *config = config_now(cb->config);
    const struct callback_slot *slot = callback_slot(record);
    (void)requested_ns;

    budget->count_max = UINT64_MAX;
    if (config->bhlimit == 0)
        return;

    if (rtrcu_load_relaxed(&slot->punted))
        budget->count_max = 0;
    budget->sure = rtrcu_load_relaxed(&slot->quota);
    budget->must_stop = config->krcud_when == RTRCU_KRCUD_WHEN_ALWAYS ? always_waits : callback_rt_waits;
}

/* Subtract the batch from the quota.  If a refill between the load and the store is lost, the owner only runs fewer
 * callbacks. */
static void owner_done(struct callback *cb, struct reader_record *record, const struct callback_run *run, bool left)
{
    struct callback_slot *slot = callback_slot(record);
    uint32_t quota = rtrcu_load_relaxed(&slot->quota);
    rtrcu_store_relaxed(&slot->quota, run->done < quota ? quota - (uint32_t)run->done : 0);

    if (run->stopped && left) {
        rtrcu_store_relaxed(&slot->punted, 1);
        counter_add(&cb->limit_stops, 1);
    }
}

const struct callback_policy callback_policy_krcud = {
    .name = "krcud", .owner_runs = true, .punts = true, .owner_budget = owner_budget, .owner_done = owner_done};

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Policy krcud: the owner runs at most bhlimit callbacks of what a grace period made ready, while real-time work
 * waits; a preemptible daemon runs the rest (2004).
 *
 * The rest goes to the head of the daemon's list as the queue that it is, so the callbacks of a thread run in order;
 * while the daemon has begun on it, the owner runs none.  bhlimit 0: no daemon, the owner runs everything.
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

/* Near: what is queued, at what a callback costs, would run past it. */
static bool deadline_is_near(const struct reader_record *record)
{
    const struct callback_slot *slot = callback_slot(record);
    int64_t cost = (int64_t)(rtrcu_load_relaxed(&slot->queue.cost_ns) + 1) * (int64_t)callback_pending(record);
    return callback_deadline(record) && plat_clock_now() + cost >= callback_deadline(record);
}

bool callback_rt_waits(const struct callback *cb, const struct reader_record *record)
{
    uint32_t seen = reader_cpu(record), cpu = seen == UINT32_MAX ? (uint32_t)plat_cpu_current() : seen;
    if (cpu < PLAT_CPU_MAX && rtrcu_load_relaxed(&cb->rt_awake[cpu]))
        return true;
    return deadline_is_near(record);
}

static void owner_budget(struct callback *cb, struct reader_record *record, int64_t asked_ns,
                         struct callback_budget *budget)
{
    const struct rtrcu_config *config = config_now(cb->config);
    bool limited = config->krcud_when == RTRCU_KRCUD_WHEN_ALWAYS || callback_rt_waits(cb, record);
    (void)asked_ns;
    budget->count_max = limited && config->bhlimit ? rtrcu_load_relaxed(&callback_slot(record)->quota) : UINT64_MAX;
}

static void owner_done(struct callback *cb, struct reader_record *record, uint64_t done, bool left)
{
    struct callback_slot *slot = callback_slot(record);
    uint32_t quota = rtrcu_load_relaxed(&slot->quota); /* a refill that comes between is lost: less is run, no harm */
    rtrcu_store_relaxed(&slot->quota, done < quota ? quota - (uint32_t)done : 0);
    if (left)
        counter_add(&cb->limit_stops, 1);
}

const struct callback_policy callback_policy_krcud = {
    .name = "krcud", .owner_runs = true, .punts = true, .owner_budget = owner_budget, .owner_done = owner_done};

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Policy throttle: maxbatch callbacks per pass, then a pause of plugticks ticks; 0 ticks: the next pass may follow
 * immediately (2004).
 *
 * Ready callbacks wait separately from those whose grace period is not over, so a pause delays nothing else.  The
 * policy's known weakness is a flood of more than maxbatch callbacks per plugticks; the adaptive limits raise maxbatch
 * then.
 * tested by: test/unit/callback/policy.cc
 */
#include "callback/callback.h"

static void owner_budget(struct callback *cb, struct reader_record *record, int64_t requested_ns,
                         struct callback_budget *budget)
{
    bool lifted = callback_count_limit(cb, record) == UINT64_MAX;
    (void)requested_ns;
    if (lifted)
        budget->count_max = UINT64_MAX;
    else if (plat_clock_now() < rtrcu_load_relaxed(&callback_slot(record)->throttled_until_ns))
        budget->count_max = 0;
    else
        budget->count_max = (uint64_t)config_now(cb->config)->maxbatch;
}

static void owner_done(struct callback *cb, struct reader_record *record, const struct callback_run *run, bool left)
{
    (void)run;
    if (!left)
        return;

    counter_add(&cb->limit_stops, 1);
    int64_t rest_ns = config_now(cb->config)->plugticks * config_now(cb->config)->tick_us * 1000;
    rtrcu_store_relaxed(&callback_slot(record)->throttled_until_ns, plat_clock_now() + rest_ns);
}

const struct callback_policy callback_policy_throttle = {
    .name = "throttle", .owner_runs = true, .owner_budget = owner_budget, .owner_done = owner_done};

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Policy inline: the owner invokes in its own calls, within count, time and its next deadline.
 *
 * tested by: test/unit/callback/policy.cc
 */
#include "callback/callback.h"

/* When a batch must end, 0 = no limit: @budget_ns is negative, or exceeds the clock's range. */
static int64_t end_of(int64_t budget_ns)
{
    int64_t now = plat_clock_now();
    return budget_ns < 0 || budget_ns > INT64_MAX - now ? 0 : now + budget_ns;
}

/* At callback_full_at() with backpressure=help, the limits of count and time are dropped, but never the deadline. */
static void owner_budget(struct callback *cb, struct reader_record *record, int64_t requested_ns,
                         struct callback_budget *budget)
{
    const struct rtrcu_config *config = config_now(cb->config);
    int64_t budget_ns = requested_ns ? requested_ns : config->budget_ns;
    bool help = config->backpressure == RTRCU_BACKPRESSURE_HELP && callback_is_full(cb, record);

    budget->deadline_ns = callback_deadline(record);
    budget->count_max = help || requested_ns < 0 ? UINT64_MAX : callback_count_limit(cb, record);
    budget->end_ns = help ? 0 : end_of(budget_ns);
}

const struct callback_policy callback_policy_inline = {
    .name = "inline", .owner_runs = true, .owner_budget = owner_budget};

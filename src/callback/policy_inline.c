/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Policy inline: the owner invokes in its own calls, within count, time and its next deadline.
 *
 * tested by: test/unit/callback/policy.cc
 */
#include "callback/callback.h"

/* Beyond qmax with backpressure help, count and time give way; the deadline never does. */
static void owner_budget(const struct callback *cb, const struct reader_record *record, int64_t asked_ns,
                         struct callback_budget *budget)
{
    const struct rtrcu_config *config = callback_config(cb);
    int64_t budget_ns = asked_ns ? asked_ns : config->budget_ns;
    bool help = config->backpressure == RTRCU_BACKPRESSURE_HELP && callback_pending(record) >= (uint64_t)config->qmax;
    budget->deadline_ns = record->deadline_ns;
    budget->count_max = help || asked_ns < 0 ? UINT64_MAX : callback_count_limit(cb, record);
    budget->end_ns = help || budget_ns < 0 ? 0 : plat_clock_now() + budget_ns;
}

const struct callback_policy callback_policy_inline = {
    .name = "inline", .owner_runs = true, .needs_thread = false, .owner_budget = owner_budget};

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Policy unbounded: the owner invokes all ready callbacks without a break, as RCU did in 2003.  For comparison.
 *
 * tested by: test/unit/callback/policy.cc
 */
#include "callback/callback.h"

static void owner_budget(struct callback *cb, struct reader_record *record, int64_t requested_ns,
                         struct callback_budget *budget)
{
    (void)cb;
    (void)record;
    (void)requested_ns;
    budget->count_max = UINT64_MAX;
}

const struct callback_policy callback_policy_unbounded = {
    .name = "unbounded", .owner_runs = true, .owner_budget = owner_budget};

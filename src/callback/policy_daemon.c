/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Policy daemon: daemons invoke all callbacks, owners none.
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
    budget->count_max = 0;
}

const struct callback_policy callback_policy_daemon = {
    .name = "daemon", .owner_runs = false, .owner_budget = owner_budget};

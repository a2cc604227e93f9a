/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls of the owner that may invoke its ready callbacks, as the policy allows.
 *
 * tested by: test/api/budgets.cc
 */
#include "callback/callback.h"

static const struct callback_policy *policy_of(const struct callback *cb)
{
    return callback_policy_of(config_now(cb->config)->policy);
}

/* Does nothing inside a callback or a section. */
struct callback_own callback_invoke_own(struct callback *cb, int64_t requested_ns)
{
    struct reader_record *record = reader_self();
    struct callback_own own = {0};

    if (!record || reader_self_is(READER_STATE_CALLBACK) || section_nesting() != 0)
        return own;

    if (rtrcu_load_relaxed(&callback_slot(record)->calls) != CALLBACK_CALLED)
        rtrcu_store_relaxed(&callback_slot(record)->calls, CALLBACK_CALLED);
    if (!callback_has_ready(record))
        return own;

    const struct callback_policy *policy = policy_of(cb);
    struct callback_budget budget = {.by_owner = true, .may_wait = !reader_self_is(READER_STATE_DEADLINE)};
    policy->owner_budget(cb, record, requested_ns, &budget);

    struct callback_run run = {0};
    if (budget.count_max)
        run = callback_invoke(cb, record, &budget);
    own.done = run.done;
    own.wanted = run.wanted;

    bool left = callback_has_ready(record);
    own.stuck = left && run.done == 0;
    if (policy->owner_done && (run.done || run.stopped))
        policy->owner_done(cb, record, &run, left);
    own.punted = left && policy->punts && rtrcu_load_relaxed(&callback_slot(record)->punted);

    return own;
}

void callback_request_owner(struct callback *cb)
{
    struct reader_record *record = reader_self();
    if (record && callback_owner_runs(cb) && reader_self_is(READER_STATE_QSBR) && callback_has_ready(record))
        reader_arm_self();
}

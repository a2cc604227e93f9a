/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table of policies, and the adaptive limit that they share.
 *
 * tested by: test/unit/callback/policy.cc
 */
#include "callback/callback.h"

const struct callback_policy *callback_policy_of(int32_t policy)
{
    switch (policy) {
    case RTRCU_POLICY_DAEMON:
        return &callback_policy_daemon;
    case RTRCU_POLICY_INLINE:
        return &callback_policy_inline;
    case RTRCU_POLICY_UNBOUNDED:
        return &callback_policy_unbounded;
    case RTRCU_POLICY_KRCUD:
        return &callback_policy_krcud;
    case RTRCU_POLICY_THROTTLE:
        return &callback_policy_throttle;
    default:
        return NULL;
    }
}

uint64_t callback_count_limit(struct callback *cb, struct reader_record *record)
{
    const struct rtrcu_config *config = config_now(cb->config);
    struct cb_queue *queue = &callback_slot(record)->queue;
    uint64_t pending = callback_pending(record);
    if (config->adaptive && pending > (uint64_t)config->qhimark && !rtrcu_load_relaxed(&queue->raised)) {
        rtrcu_store_relaxed(&queue->raised, 1);
        rtrcu_fetch_add(&cb->limit_raised, 1);
    }
    if (pending <= (uint64_t)config->qlowmark)
        rtrcu_store_relaxed(&queue->raised, 0);
    if (rtrcu_load_relaxed(&queue->raised))
        return UINT64_MAX;
    uint64_t scaled = pending >> CALLBACK_DIVISOR, blimit = (uint64_t)config->blimit;
    return scaled > blimit ? scaled : blimit;
}

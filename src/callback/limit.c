/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The adaptive limit of a batch: for policies whose owners run their callbacks, and for threads that run the callbacks
 * of others where there is no daemon.
 *
 * tested by: test/unit/callback/policy.cc
 */
#include "callback/callback.h"

uint64_t callback_count_limit(struct callback *cb, struct reader_record *record)
{
    const struct rtrcu_config *config = config_now(cb->config);
    struct cb_queue *queue = &callback_slot(record)->queue;
    uint64_t pending = callback_pending(record);

    if (config->adaptive && pending > (uint64_t)config->qhimark && !rtrcu_load_relaxed(&queue->raised)) {
        rtrcu_store_relaxed(&queue->raised, 1);
        counter_add(&cb->limit_raised, 1);
        trace2(limit_raised, cb->gp, pending);
    }

    if (pending <= (uint64_t)config->qlowmark)
        rtrcu_store_relaxed(&queue->raised, 0);

    if (rtrcu_load_relaxed(&queue->raised))
        return UINT64_MAX;

    uint64_t scaled = pending >> CALLBACK_DIVISOR, blimit = (uint64_t)config->blimit;
    return scaled > blimit ? scaled : blimit;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The backlog at which backpressure acts on a queue: qmax, or its share of qmax_process.
 *
 * tested by: test/unit/callback/bound.cc
 */
#include "callback/callback.h"

uint64_t callback_process_limit(const struct callback *cb)
{
    const struct rtrcu_config *config = config_now(cb->config);
    uint64_t factor = CALLBACK_PROCESS_FACTOR * (uint64_t)config->qmax;
    if (config->qmax_process)
        return (uint64_t)config->qmax_process;
    return factor > CALLBACK_PROCESS_MIN ? factor : CALLBACK_PROCESS_MIN;
}

uint64_t callback_full_at(const struct callback *cb)
{
    uint64_t qmax = (uint64_t)config_now(cb->config)->qmax;
    if (!rtrcu_load_relaxed(&cb->bound.raised))
        return qmax;

    uint32_t queues = tally_read(&cb->bound.queues);
    uint64_t share = callback_process_limit(cb) / (queues ? queues : 1);
    share = share ? share : 1;
    return share < qmax ? share : qmax;
}

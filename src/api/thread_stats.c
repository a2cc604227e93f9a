/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Statistics of the calling thread: the resources that the library has taken from it.
 *
 * tested by: test/api/thread_stats.cc
 */
#include <errno.h>
#include <string.h>

#include "api/api.h"

int rtrcu_thread_stats(struct rtrcu_thread_stats *stats)
{
    uint32_t size = stats->size;
    const struct reader_record *record = reader_self();

    if (size == 0 || size % 8 != 0)
        return -EINVAL;
    size = size < sizeof(*stats) ? size : (uint32_t)sizeof(*stats);

    struct rtrcu_thread_stats all = {
        .size = size,
        .slow_paths = rtrcu_self.slow_paths,
        .system_calls = rtrcu_self.system_calls,
        .callback_ns = rtrcu_self.callback_ns,
        .batch_ns_max = rtrcu_self.batch_ns_max,
        .boosts = record ? turn_boosts_of(record) : 0,
        .lock_waits = rtrcu_self.lock_waits,
    };
    memcpy(stats, &all, size);
    return 0;
}

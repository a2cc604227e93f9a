/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Counters of callbacks, as programs are told them.
 */
#include "world.h"

namespace
{

using Count = CallbackWorld;

/* A batch's oldest callback has waited so long; what is too long for the last bucket is in it. */
TEST_F(Count, WaitsAreCountedByTheirLength)
{
    reader_record *record = world_.craft(0);
    for (int64_t waited_ns : {INT64_C(1000000000), INT64_MAX / 2}) {
        queue_ready(record, 1);
        callback_slot(record)->oldest_ready_ns = plat_clock_now() - waited_ns;
        invoke(record, everything());
    }
    struct rtrcu_stats stats = {};
    callback_stats(cb_, &stats);
    uint64_t all = 0, second = 0;
    for (int i = 0; i < RTRCU_LATENCY_BUCKETS; i++)
        all += stats.latency_us_log2[i];
    for (int i = 19; i < RTRCU_LATENCY_BUCKETS - 1; i++)
        second += stats.latency_us_log2[i];
    EXPECT_EQ(all, 2u);
    EXPECT_EQ(second, 1u) << "of a second, or more on a machine that is busy";
    EXPECT_EQ(stats.latency_us_log2[RTRCU_LATENCY_BUCKETS - 1], 1u);
}

} // namespace

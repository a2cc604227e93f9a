/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the histogram of durations, and of other counters of grace periods. */
#include <algorithm>

#include <gtest/gtest.h>

#include "../../support/internals.h"

TEST(Histogram, ShortestDurationsHaveABucketEach)
{
    EXPECT_EQ(gp_histogram_bucket(-1), 0u) << "a negative duration counts as the shortest";
    for (uint32_t ns = 0; ns < 8; ns++)
        EXPECT_EQ(gp_histogram_bucket(ns), ns);
}

TEST(Histogram, EachBucketBeginsWhereThePreviousEnds)
{
    constexpr uint32_t last = GP_HISTOGRAM - 1, of_the_longest = 247;
    for (uint32_t bucket = 4; bucket <= of_the_longest; bucket++) {
        int64_t begin = int64_t{4 + bucket % 4} << (bucket / 4 - 1);
        EXPECT_EQ(gp_histogram_bucket(begin), std::min(bucket, last)) << begin;
        EXPECT_EQ(gp_histogram_bucket(begin - 1), std::min(bucket - 1, last)) << begin;
    }
    EXPECT_EQ(gp_histogram_bucket(INT64_MAX), last) << "the last bucket has no end";
}

/* struct rtrcu_stats has the counters of the normal machine, and the number of expedited grace periods. */
TEST(GpStats, StatisticsEqualTheCountersOfTheGracePeriods)
{
    test::World world;
    struct gp_machine *normal = &world.gp()->machine[GP_NORMAL];
    normal->completed.count = 11;
    normal->busy.count = 12;
    normal->at_once.count = 13;
    normal->ns_last = 14;
    normal->ns_max = 15;
    world.gp()->machine[GP_EXPEDITED].completed.count = 16;
    struct rtrcu_stats stats = {};
    gp_stats(world.gp(), &stats);
    EXPECT_EQ(stats.gp_completed, 11u);
    EXPECT_EQ(stats.gp_busy, 12u);
    EXPECT_EQ(stats.gp_at_once, 13u);
    EXPECT_EQ(stats.gp_ns_last, 14u);
    EXPECT_EQ(stats.gp_ns_max, 15u);
    EXPECT_EQ(stats.exp_completed, 16u);
}

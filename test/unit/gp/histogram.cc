/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The buckets in which durations are counted.
 */
#include <gtest/gtest.h>

#include "../../support/internals.h"

TEST(Histogram, TheShortestHaveABucketEach)
{
    EXPECT_EQ(gp_histogram_bucket(-1), 0u) << "a clock that was set back";
    for (uint32_t ns = 0; ns < 8; ns++)
        EXPECT_EQ(gp_histogram_bucket(ns), ns);
}

TEST(Histogram, EachBeginsWhereTheOneBeforeEnds)
{
    for (uint32_t bucket = 4; bucket < GP_HISTOGRAM; bucket++) {
        int64_t begin = int64_t{4 + bucket % 4} << (bucket / 4 - 1);
        EXPECT_EQ(gp_histogram_bucket(begin), bucket) << begin;
        EXPECT_EQ(gp_histogram_bucket(begin - 1), bucket - 1) << begin;
    }
    EXPECT_EQ(gp_histogram_bucket(INT64_MAX), GP_HISTOGRAM - 1u) << "the last has no end";
}

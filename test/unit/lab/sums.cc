// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of the interval of a ratio of sums, which is wide if one run contributes most of a sum.
#include "report/sums.h"

#include <gtest/gtest.h>

using namespace lab;

TEST(Sums, EqualRunsGiveAnEmptyInterval)
{
    const auto interval = sums_interval(std::vector<Part>(6, {100, 100}), std::vector<Part>(6, {200, 100}));
    ASSERT_TRUE(interval);
    EXPECT_DOUBLE_EQ(interval->middle, 0.5);
    EXPECT_DOUBLE_EQ(interval->low, 0.5);
    EXPECT_DOUBLE_EQ(interval->high, 0.5);
}

TEST(Sums, IntervalIsWideIfOneRunDominatesTheSum)
{
    std::vector<Part> uneven(6, {0, 100});
    uneven[2].sum = 600;
    const auto interval = sums_interval(uneven, std::vector<Part>(6, {200, 100}));
    ASSERT_TRUE(interval);
    EXPECT_DOUBLE_EQ(interval->middle, 0.5);
    EXPECT_DOUBLE_EQ(interval->low, 0) << "some resamples omit the dominant run";
    EXPECT_GE(interval->high, 1) << "some resamples contain it twice";
}

TEST(Sums, IntervalNeedsFiveRunsAndANonzeroDivisor)
{
    const std::vector<Part> four(4, {1, 1}), five(5, {1, 1}), nothing(5, {0, 1});
    EXPECT_FALSE(sums_interval(four, five));
    EXPECT_FALSE(sums_interval(five, four));
    EXPECT_FALSE(sums_interval(five, nothing));
    EXPECT_FALSE(sums_interval({}, five));
}

// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of the intervals of medians and of differences, and of verdicts from them.
#include <gtest/gtest.h>

#include "report/interval.h"

using namespace lab;

TEST(Interval, IntervalContainsTheMedianAndLiesWithinTheValues)
{
    const auto interval = median_interval({9, 10, 11, 12, 10, 11, 10});
    ASSERT_TRUE(interval);
    EXPECT_DOUBLE_EQ(interval->middle, 10);
    EXPECT_GE(interval->low, 9);
    EXPECT_LE(interval->high, 12);
    EXPECT_LT(interval->low, interval->high);
}

TEST(Interval, IntervalNeedsFiveValues)
{
    EXPECT_FALSE(median_interval({1, 2, 3, 4}));
    EXPECT_FALSE(difference_interval({1, 2, 3, 4, 5}, {1, 2}));
}

TEST(Interval, OneOutlierMovesTheIntervalLittle)
{
    const auto interval = median_interval({10, 11, 10, 12, 11, 10, 9'000, 11, 10, 12});
    ASSERT_TRUE(interval);
    EXPECT_LT(interval->high, 100);
}

TEST(Interval, RoundsAreComparedInPairs)
{
    // The machine slows down from round to round.  In each round `one` takes two more than `other`.
    const std::vector<double> one = {12, 22, 32, 42, 52, 62}, other = {10, 20, 30, 40, 50, 60};
    const auto difference = difference_interval(one, other);
    ASSERT_TRUE(difference);
    EXPECT_DOUBLE_EQ(difference->low, 2);
    EXPECT_DOUBLE_EQ(difference->high, 2);
    EXPECT_FALSE(difference->covers(0));
    EXPECT_TRUE(difference_interval(one, {12, 20, 36, 40, 56, 60})->covers(0));
}

TEST(Interval, VerdictNeedsTheWholeInterval)
{
    EXPECT_EQ(judge_least({0.97, 0.96, 0.98}, 0.95), Outcome::held);
    EXPECT_EQ(judge_least({0.97, 0.94, 0.98}, 0.95), Outcome::not_judged);
    EXPECT_EQ(judge_least({0.91, 0.90, 0.93}, 0.95), Outcome::failed);
    EXPECT_EQ(judge_least({0.91, 0.90, 0.93}, 0.95, Outcome::not_reproduced), Outcome::not_reproduced);
    EXPECT_EQ(judge_most({2.0, 1.8, 2.2}, 3), Outcome::held);
    EXPECT_EQ(judge_most({2.0, 1.8, 3.2}, 3), Outcome::not_judged);
    EXPECT_EQ(judge_most({4.0, 3.1, 5.0}, 3), Outcome::failed);
}

TEST(Interval, DifferenceInsideTheSpreadIsNotReproduced)
{
    const Interval less{0.8, 0.7, 0.9}, same{0.95, 0.8, 1.05}, more{1.2, 1.1, 1.3};
    EXPECT_EQ(judge_less(less, true), Outcome::held);
    EXPECT_EQ(judge_less(same, true, Outcome::failed), Outcome::not_reproduced);
    EXPECT_EQ(judge_less(more, true, Outcome::failed), Outcome::failed);
    EXPECT_EQ(judge_more(more, true), Outcome::held);
    EXPECT_EQ(judge_more(same, true, Outcome::failed), Outcome::not_reproduced);
    EXPECT_EQ(judge_more(less, true, Outcome::failed), Outcome::failed);
    EXPECT_EQ(judge_less(less, false), Outcome::not_judged);
    EXPECT_EQ(judge_more(std::nullopt, true), Outcome::not_judged);
    EXPECT_EQ(change_text(less, 9), "-20.0 % (-30.0 to -10.0)");
    EXPECT_EQ(change_text(std::nullopt, 4), "rounds: 4 of the 5 that a spread needs");
}

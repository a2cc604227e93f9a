/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of tallies: raising and lowering, also from a value read before, and never below 0. */
#include <gtest/gtest.h>

#include "../../support/internals.h"

namespace
{

TEST(Tally, LowerReturnsThePreviousCount)
{
    tally count = {};
    tally_raise(&count);
    tally_raise(&count);
    EXPECT_EQ(tally_read(&count), 2u);
    EXPECT_EQ(tally_lower(&count), 2u);
    EXPECT_EQ(tally_lower(&count), 1u);
    EXPECT_EQ(tally_acquire(&count), 0u);
}

TEST(Tally, RaiseFromAnOutdatedCountFails)
{
    tally count = {};
    uint32_t seen = tally_read(&count);
    tally_raise(&count);
    EXPECT_FALSE(tally_raise_from(&count, &seen));
    EXPECT_EQ(seen, 1u);
    EXPECT_TRUE(tally_raise_from(&count, &seen));
    EXPECT_EQ(tally_read(&count), 2u);
}

TEST(Tally, LowerIfRaisedDoesNotGoBelowZero)
{
    tally count = {};
    tally_lower_if_raised(&count);
    EXPECT_EQ(tally_read(&count), 0u);
    tally_raise(&count);
    tally_lower_if_raised(&count);
    EXPECT_EQ(tally_read(&count), 0u);
}

TEST(TallyDeath, LowerWithoutARaiseBreaksTheInvariant)
{
    if (!CHECK_DEBUG)
        GTEST_SKIP() << "release builds do not check invariants";
    tally count = {};
    EXPECT_DEATH((void)tally_lower(&count), "INV-BA1");
}

} // namespace

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tallies: what is raised in one generation is not lowered in another.
 */
#include <gtest/gtest.h>

#include "../../support/internals.h"

namespace
{

TEST(Tally, WhatIsRaisedIsLowered)
{
    tally count = {};
    tally_ticket first = tally_raise(&count), second = tally_raise(&count);
    EXPECT_EQ(tally_read(&count), 2u);
    EXPECT_EQ(tally_lower(&count, first), 2u);
    EXPECT_EQ(tally_lower(&count, second), 1u);
    EXPECT_EQ(tally_acquire(&count), 0u);
}

/* A handler forks between the two. */
TEST(Tally, WhatWasRaisedBeforeAForkIsNotLoweredBehindIt)
{
    tally count = {};
    tally_ticket before = tally_raise(&count);
    tally_forget(&count);
    EXPECT_EQ(tally_read(&count), 0u);
    EXPECT_EQ(tally_lower(&count, before), 0u);
    tally_ticket behind = tally_raise(&count);
    EXPECT_FALSE(tally_ticket_is(before, behind));
    EXPECT_EQ(tally_lower(&count, before), 0u);
    EXPECT_EQ(tally_read(&count), 1u) << "that of the child's own";
    EXPECT_EQ(tally_lower(&count, behind), 1u);
    EXPECT_EQ(tally_read(&count), 0u);
}

/* It forks between the look and the raise. */
TEST(Tally, ARaiseFromWhatWasSeenBeforeAForkFails)
{
    tally count = {};
    uint64_t seen = tally_look(&count);
    tally_forget(&count);
    EXPECT_FALSE(tally_raise_from(&count, &seen)) << "the number is the same, the generation is not";
    EXPECT_TRUE(tally_raise_from(&count, &seen));
    EXPECT_TRUE(tally_ticket_is(tally_ticket_of(seen), tally_ticket_now(&count)));
    EXPECT_EQ(tally_read(&count), 1u);
}

TEST(TallyDeath, WhatWasNotRaisedIsNotLowered)
{
    if (!CHECK_DEBUG)
        GTEST_SKIP() << "release builds do not check invariants";
    tally count = {};
    EXPECT_DEATH(tally_lower(&count, tally_ticket_now(&count)), "INV-BA1");
}

} // namespace

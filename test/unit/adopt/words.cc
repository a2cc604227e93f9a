/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Readers of an adopted flavour come and go.
 */
#include "world.h"

namespace
{

using Words = AdoptWorld;

/* A handler that reads would register its thread a second time, half way. */
TEST_F(Words, ComingAndGoingIsNotInterrupted)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_BP);
    was_blocked = false;
    ASSERT_TRUE(adopt_register(adopted));
    EXPECT_NE(adopt_self(adopted), nullptr);
    EXPECT_TRUE(was_blocked);
    EXPECT_FALSE(signals_are_blocked());
    was_blocked = false;
    adopt_unregister(adopted);
    EXPECT_EQ(adopt_self(adopted), nullptr);
    EXPECT_TRUE(was_blocked);
    EXPECT_FALSE(signals_are_blocked());
}

} // namespace

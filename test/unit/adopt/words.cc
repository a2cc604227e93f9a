/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Readers of an adopted flavour come and go.
 */
#include "world.h"

namespace
{

using Words = AdoptWorld;

/* A block that was a server's thread's is an ordinary thread's now. */
TEST_F(Words, ABlockIsAsNewForItsNextThread)
{
    rtrcu_adopted *adopted = adopt(RTRCU_ADOPT_BP);
    ASSERT_TRUE(adopt_register(adopted));
    rtrcu_adopted_reader *self = adopt_self(adopted);
    self->in_callbacks = 1;
    self->server = &adopted->ordinary;
    adopt_unregister(adopted);
    ASSERT_TRUE(adopt_register(adopted));
    ASSERT_EQ(adopt_self(adopted), self);
    EXPECT_EQ(self->in_callbacks, 0U);
    EXPECT_EQ(self->server, nullptr);
    adopt_unregister(adopted);
}

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
